package jmespath

import (
	"crypto/md5" //nolint:gosec // md5() is a function of the language, not a protection
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // as is sha1()
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
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
		{name: "sha256", params: s, run: func(c *call) (any, error) {
			sum := sha256.Sum256([]byte(c.str(0)))
			return hex.EncodeToString(sum[:]), nil
		}},
		{name: "sha1", params: s, run: func(c *call) (any, error) {
			sum := sha1.Sum([]byte(c.str(0))) //nolint:gosec // see the import
			return hex.EncodeToString(sum[:]), nil
		}},
		{name: "md5", params: s, run: func(c *call) (any, error) {
			sum := md5.Sum([]byte(c.str(0))) //nolint:gosec // see the import
			return hex.EncodeToString(sum[:]), nil
		}},
		{name: "x509_decode", params: s, run: decodeX509},
		{name: "random", params: s, run: random},
	}
}

// publicKey is an RSA key as policies read it: the modulus as decimal text.
type publicKey struct {
	N string
	E int
}

// decodeX509 gives the fields of a PEM certificate or certificate request as crypto/x509 names them. Only
// RSA keys are supported, as in Kyverno.
func decodeX509(c *call) (any, error) {
	block, _ := pem.Decode([]byte(c.str(0)))
	if block == nil {
		return nil, c.fail("argument #1 has no PEM block")
	}
	var decoded any
	switch block.Type {
	case "CERTIFICATE":
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, c.fail("argument #1 is not a certificate")
		}
		key, ok := cert.PublicKey.(*rsa.PublicKey)
		if !ok {
			return nil, c.fail("certificate should use rsa algorithm")
		}
		cert.PublicKey = publicKey{N: key.N.String(), E: key.E}
		decoded = cert
	case "CERTIFICATE REQUEST":
		request, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			return nil, c.fail("argument #1 is not a certificate request")
		}
		key, ok := request.PublicKey.(*rsa.PublicKey)
		if !ok {
			return nil, c.fail("certificate should use rsa algorithm")
		}
		request.PublicKey = publicKey{N: key.N.String(), E: key.E}
		decoded = request
	default:
		return nil, c.fail("argument #1 is neither a CERTIFICATE nor a CERTIFICATE REQUEST")
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return nil, c.fail("the certificate cannot be written as JSON")
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
