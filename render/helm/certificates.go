package helm

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"time"
)

// certificate is the result of functions that make certificates.
type certificate struct {
	Cert string
	Key  string
}

// authority makes a certificate that can sign others.
func authority(name string, days int, key crypto.Signer, random *stream) (certificate, error) {
	template, err := request(name, nil, nil, days, random)
	if err != nil {
		return certificate{}, err
	}
	template.KeyUsage |= x509.KeyUsageCertSign
	template.IsCA = true
	return sign(template, template, key, key)
}

// signed makes a certificate. It is self-signed if by is nil.
func signed(name string, ips, names []any, days int, key crypto.Signer, by *certificate, random *stream) (
	certificate, error) {
	template, err := request(name, ips, names, days, random)
	if err != nil {
		return certificate{}, err
	}
	if by == nil {
		return sign(template, template, key, key)
	}
	block, _ := pem.Decode([]byte(by.Cert))
	if block == nil {
		return certificate{}, errors.New("unable to decode certificate")
	}
	parent, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return certificate{}, errors.New("error parsing certificate")
	}
	parentKey, err := decodeKey(by.Key)
	if err != nil {
		return certificate{}, err
	}
	return sign(template, parent, key, parentKey)
}

func request(name string, ips, names []any, days int, random *stream) (*x509.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(random.bytes(16)), Subject: pkix.Name{CommonName: name},
		NotBefore: frozenTime, NotAfter: frozenTime.Add(24 * time.Hour * time.Duration(days)),
		KeyUsage:              x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	for _, ip := range ips {
		text, _ := ip.(string)
		parsed := net.ParseIP(text)
		if parsed == nil {
			return nil, errors.New("error parsing ip")
		}
		template.IPAddresses = append(template.IPAddresses, parsed)
	}
	for _, name := range names {
		text, ok := name.(string)
		if !ok {
			return nil, errors.New("error processing alternate dns name: it is not a string")
		}
		template.DNSNames = append(template.DNSNames, text)
	}
	return template, nil
}

func sign(template, parent *x509.Certificate, key, parentKey crypto.Signer) (certificate, error) {
	if k, ok := parentKey.(*ecdsa.PrivateKey); ok {
		parentKey = repeatable{k}
	}
	data, err := x509.CreateCertificate(nil, template, parent, key.Public(), parentKey)
	if err != nil {
		return certificate{}, errors.New("error creating certificate")
	}
	return certificate{Cert: encodePEM("CERTIFICATE", data), Key: encodeKey(key)}, nil
}

// repeatable is an ECDSA key whose signatures are not random.
type repeatable struct{ key *ecdsa.PrivateKey }

func (r repeatable) Public() crypto.PublicKey { return r.key.Public() }

// Sign implements crypto.Signer.
func (r repeatable) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return r.key.Sign(nil, digest, opts)
}

// custom is buildCustomCert. It only checks its arguments.
func custom(cert, key string) (certificate, error) {
	c, errCert := base64.StdEncoding.DecodeString(cert)
	k, errKey := base64.StdEncoding.DecodeString(key)
	if errCert != nil || errKey != nil {
		return certificate{}, errors.New("unable to decode base64 certificate or key")
	}
	block, _ := pem.Decode(c)
	if block == nil {
		return certificate{}, errors.New("unable to decode certificate")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return certificate{}, errors.New("error parsing certificate")
	}
	if block, _ := pem.Decode(k); block == nil {
		return certificate{}, errors.New("error parsing private key")
	} else if !bytes.HasSuffix([]byte(block.Type), []byte("PRIVATE KEY")) {
		return certificate{}, errors.New("error parsing private key")
	}
	return certificate{Cert: string(c), Key: string(k)}, nil
}
