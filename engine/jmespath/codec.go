package jmespath

import (
	"crypto/md5" //nolint:gosec // md5() is a function of the language, not a protection
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // as is sha1()
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
)

// codecFunctions encode, decode, hash and draw
// (https://kyverno.io/docs/policy-types/cluster-policy/jmespath/#x509_decode).
func codecFunctions() []function {
	s := []kind{kindString}
	return []function{
		{name: "base64_encode", params: s, run: func(c *call) (any, error) {
			if err := c.grow(base64.StdEncoding.EncodedLen(len(c.str(0)))); err != nil {
				return nil, err
			}
			return base64.StdEncoding.EncodeToString([]byte(c.str(0))), nil
		}},
		{name: "base64_decode", params: s, run: func(c *call) (any, error) {
			raw, err := base64.StdEncoding.DecodeString(c.str(0))
			if err != nil {
				return nil, c.fail("argument #1 is not base64")
			}
			return c.made(string(raw))
		}},
		{name: "sha256", params: s, run: of(func(s string) any { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) })},
		//nolint:gosec // see the imports
		{name: "sha1", params: s, run: of(func(s string) any { return fmt.Sprintf("%x", sha1.Sum([]byte(s))) })},
		//nolint:gosec // see the imports
		{name: "md5", params: s, run: of(func(s string) any { return fmt.Sprintf("%x", md5.Sum([]byte(s))) })},
		{name: "x509_decode", params: s, run: decodeX509},
		{name: "random", params: s, run: random},
	}
}

// publicKey is an RSA key as policies read it: the modulus as decimal text.
type publicKey struct {
	N string
	E int
}

// decodeX509 gives the fields of a PEM certificate or certificate request.
func decodeX509(c *call) (any, error) {
	text, err := CertificateJSON(c.str(0))
	if err != nil {
		return nil, c.fail("argument #1 has no PEM block that can be read: %v", err)
	}
	if err := c.grow(len(text)); err != nil {
		return nil, err
	}
	v, err := decodeJSON(text)
	if err != nil {
		return nil, c.fail("the certificate cannot be written as JSON")
	}
	return v, nil
}

// CertificateJSON returns the fields of a PEM certificate or certificate request as crypto/x509 names them, in JSON.
// It is an error where the text is neither. Only RSA keys are supported, as in Kyverno.
func CertificateJSON(text string) ([]byte, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("failed to decode PEM block")
	}
	var decoded any
	var key *any
	switch block.Type {
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("the text is not a certificate")
		}
		decoded, key = cert, &cert.PublicKey
	case "CERTIFICATE REQUEST":
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, errors.New("the text is not a certificate request")
		}
		decoded, key = request, &request.PublicKey
	default:
		return nil, errors.New("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")
	}
	public, ok := (*key).(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("certificate should use rsa algorithm")
	}
	*key = publicKey{N: public.N.String(), E: public.E}
	return json.Marshal(decoded)
}
