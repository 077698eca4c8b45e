package helm_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
)

// checkKeys reads the certificates and keys that a template printed.
func checkKeys(t *testing.T, printed string) {
	t.Helper()
	_, text, _ := strings.Cut(printed, "\nd: ")
	text, _, _ = strings.Cut(text, "\n")
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for i, entry := range list {
		pair, ok := entry.(map[string]any)
		if !ok {
			if block, _ := pem.Decode([]byte(entry.(string))); block == nil || block.Type != "DSA PRIVATE KEY" {
				t.Errorf("%v is not a key", entry)
			}
			continue
		}
		if _, err := tls.X509KeyPair([]byte(pair["Cert"].(string)), []byte(pair["Key"].(string))); err != nil {
			t.Errorf("pair %d: %v", i, err)
		}
		block, _ := pem.Decode([]byte(pair["Cert"].(string)))
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if cert.IsCA {
			roots.AddCert(cert)
		} else if i < 5 {
			if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: cert.NotBefore.AddDate(0, 0, 1)}); err != nil {
				t.Errorf("certificate %d: %v", i, err)
			}
		}
	}
}
