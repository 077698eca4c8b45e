package helm

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
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

// The primes of the RSA keys that replace random ones, base64 of big-endian bytes. They protect nothing, because the
// output is never deployed. Keys differ in their exponents, which is cheaper than other primes.
const (
	p2048 = "3YYT6bxYomXlsF/CjO9qZ+5bB3iR2XeRPRvl+9De9gyXWKdoUXSUR0FMzSfTcQNNfULBupvixD3PIk7mj1qCZWqr2tKtgNfwpML4" +
		"8tKnoAA0vLZD/XhGJAdKeP+YqKin5kfZjvRJ/h0QMc9CSUCJ44CvaAyScLLAO26PqPO2D4M"
	q2048 = "1B5ljlHJzweqlco/ir5d/Ey2/iLYmMHoRsJ9wfoDQ6howhUIYhO8UNFKdDOHhzkfiZstsnvFdnzcGI7k8bPmKUJrs9nToUWkLpGq" +
		"9qKvYLJ8v6yYihuf29LCwyPQnlR8rA4lKt3quyZcncfmThTWvUz6jFz833neD73fRVVVSKU"
	p4096 = "1IOzSSqBQdwjpp4so0Dz+hpOw7xzE20ZlA8VLejBGiDIcBCTLLPlKYolYAs7ofYFV+BWv7ZJaivM/hiLypXaid+6OdN/fLnQGxIV" +
		"3nyB0K/E3ELOKv2/hU/XLNg5BSnBZuPBB8Fori6EJBT4ItGMwAq8TsAiyTw2Nfr7lRHOPLHflq2xLeo1vPQpTu533MEXnJhQuPe3" +
		"Wyv0BQXhZX/Wp4h93HWzYiVAWQd1nR3Qm6K+H/ubQjuexibLW8GioTYHtXZcw1W0mJ2z//T/trZNTBaeXDZdoVJjNMIEKWqNqf7m" +
		"MXJuUclo3SS31sqpwQmIwWDvQc0+QPEOkR0J6JsHuw"
	q4096 = "6JKwTCyc0TEJmaCnsKoP8xxV3b4/XudaYdcgeCJBtH0RNnWN1RQ5B+H/gHRr4KmxZzGN92Jf4vITMnfeEySjjx7Mr+ILsyrv5S3p" +
		"7lkhJ5pX0k5Iwl6CWuXj9x/qzE5Ss+F1mwMVKaf4LCxgL50/ybXKnF62Gx8uiPIayc4sXN38NWKRK+r7O2SS5MsQ7BNRO1xvOLmh" +
		"mtWZ4ltNlWhu+f2nBfnX7+fuv/RVbltOYy0mRGp/8XtYhGifeo5Hax9lk2GP5ouMxnBB3h4zvKHXVu9vjnWHJAyVj+7se1Ilg4vh" +
		"HzBffhK+jIqF22jIM3qjZxsXmu/Y0Zved6wYdMMWyw"
)

// rsaKey returns a valid key of 2048 or 4096 bits that depends on the bytes of random.
func rsaKey(bits int, random *stream) *rsa.PrivateKey {
	p, q := number(p2048), number(q2048)
	if bits == 4096 {
		p, q = number(p4096), number(q4096)
	}
	one := big.NewInt(1)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	e := int64(65537 + 2*random.below(1<<28))
	for ; ; e += 2 {
		if d := new(big.Int).ModInverse(big.NewInt(e), phi); d != nil {
			key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: int(e)}, D: d,
				Primes: []*big.Int{p, q}}
			key.Precompute()
			return key
		}
	}
}

func number(text string) *big.Int {
	data, _ := base64.RawStdEncoding.DecodeString(text)
	return new(big.Int).SetBytes(data)
}

// dsaKey is the format in which sprig writes a DSA key.
type dsaKey struct {
	Version       int
	P, Q, G, Y, X *big.Int
}

// privateKey returns a private key of a type for genPrivateKey, in PEM.
func privateKey(kind string, random *stream) string {
	switch kind {
	case "", "rsa":
		return encodeKey(rsaKey(4096, random))
	case "dsa":
		p := number(p4096)
		n := func(size int) *big.Int { return new(big.Int).SetBytes(random.bytes(size)) }
		data, _ := asn1.Marshal(dsaKey{P: p, Q: n(32), G: n(256), Y: n(256), X: n(32)})
		return encodePEM("DSA PRIVATE KEY", data)
	case "ecdsa":
		for {
			// A number out of the curve's range is skipped.
			if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), random.bytes(32)); err == nil {
				return encodeKey(key)
			}
		}
	case "ed25519":
		return encodeKey(ed25519.NewKeyFromSeed(random.bytes(ed25519.SeedSize)))
	}
	return "Unknown type " + kind
}

func encodeKey(key crypto.PrivateKey) string {
	switch key := key.(type) {
	case *rsa.PrivateKey:
		return encodePEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
	case *ecdsa.PrivateKey:
		data, _ := x509.MarshalECPrivateKey(key)
		return encodePEM("EC PRIVATE KEY", data)
	}
	data, _ := x509.MarshalPKCS8PrivateKey(key)
	return encodePEM("PRIVATE KEY", data)
}

func encodePEM(kind string, data []byte) string {
	var text bytes.Buffer
	_ = pem.Encode(&text, &pem.Block{Type: kind, Bytes: data}) // a buffer never fails
	return text.String()
}

// decodeKey parses the PEM of a private key that can sign. Its errors do not contain parts of the key.
func decodeKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("there is no PEM in the private key")
	}
	var key any
	var err error
	switch {
	case block.Type == "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case block.Type == "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case block.Type == "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		err = errors.New("not a key that can sign: " + strings.ToLower(block.Type))
	}
	if err != nil {
		return nil, errors.New("the private key cannot be read")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("the private key cannot sign")
	}
	return signer, nil
}
