package helm

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
)

// frozenTime is the current time in every render.
var frozenTime = time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC)

// stream replaces random bytes. Equal seeds give equal streams.
type stream struct{ source *rand.ChaCha8 }

func (s *stream) bytes(count int) []byte {
	data := make([]byte, count)
	_, _ = s.source.Read(data) // never fails
	return data
}

func (s *stream) below(limit uint64) uint64 { return s.source.Uint64() % limit }

func (s *stream) text(count int, alphabet string) string {
	data := make([]byte, count)
	for i := range data {
		data[i] = alphabet[s.below(uint64(len(alphabet)))]
	}
	return string(data)
}

// stream returns the replacement for the random bytes of a call. It depends on the release, the template, the function
// and its arguments, and on the number of equal calls that the template made before.
func (r *run) stream(function string, args ...any) *stream {
	r.frozen[function] = true
	var call bytes.Buffer
	for _, part := range append([]any{r.options.Name, r.options.Namespace, r.template, function}, args...) {
		text := fmt.Sprintf("%T %v", part, part)
		fmt.Fprintf(&call, "%d:%s", len(text), text)
	}
	key := sha256.Sum256(call.Bytes())
	count := r.calls[string(key[:])]
	r.calls[string(key[:])]++
	return &stream{rand.NewChaCha8(sha256.Sum256(fmt.Appendf(key[:], "%d", count)))}
}

const (
	digits  = "0123456789"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// frozenFuncs returns the replacements of functions that are random or read the clock. Their results have the format of
// the originals.
func (r *run) frozenFuncs() template.FuncMap {
	f := r.certificateFuncs()
	alphabets := map[string]string{"randAlphaNum": letters + digits, "randAlpha": letters, "randNumeric": digits,
		"randAscii": printable()}
	for name, alphabet := range alphabets {
		f[name] = func(count int) (string, error) {
			return r.sized(count, 1, func() string { return r.stream(name, count).text(max(count, 0), alphabet) })
		}
	}
	f["randBytes"] = func(count int) (string, error) {
		return r.sized(count, 1, func() string {
			return base64.StdEncoding.EncodeToString(r.stream("randBytes", count).bytes(count))
		})
	}
	f["randInt"] = func(low, high int) (int, error) {
		if high <= low {
			return 0, fmt.Errorf("invalid argument")
		}
		return low + int(r.stream("randInt", low, high).below(uint64(high-low))), nil
	}
	f["shuffle"] = func(text string) string {
		runes := []rune(text)
		rand.New(r.stream("shuffle", text).source).Shuffle(len(runes), func(i, j int) {
			runes[i], runes[j] = runes[j], runes[i]
		})
		return string(runes)
	}
	f["uuidv4"] = func() string {
		id := r.stream("uuidv4").bytes(16)
		id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
		return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	f["bcrypt"] = func(password string) string { return r.bcrypt("bcrypt", "", password) }
	f["htpasswd"] = func(user, password string) string {
		if strings.Contains(user, ":") {
			return "invalid username: " + user
		}
		return user + ":" + r.bcrypt("htpasswd", user, password)
	}
	f["encryptAES"] = r.encryptAES
	r.clock(f)
	return f
}

func printable() string {
	var all []byte
	for c := byte(' '); c < 127; c++ {
		all = append(all, c)
	}
	return string(all)
}

// bcrypt returns a text in the format of a bcrypt hash: version, cost, salt and hash.
func (r *run) bcrypt(function, user, password string) string {
	if len(password) > 72 {
		return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
	}
	s := r.stream(function, user, password)
	return "$2a$10$" + s.text(21, "./"+letters+digits) + s.text(1, ".Oeu") + s.text(30, "./"+letters+digits) +
		s.text(1, ".CGKOSWaeimquy26")
}

// encryptAES is sprig's function with an initialization vector that is not random.
func (r *run) encryptAES(password, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	key := make([]byte, 32)
	copy(key, password)
	block, err := aes.NewCipher(key)
	if err != nil {
		return "", err
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	content := append([]byte(text), bytes.Repeat([]byte{byte(pad)}, pad)...)
	vector := r.stream("encryptAES", password, text).bytes(aes.BlockSize)
	cipher.NewCBCEncrypter(block, vector).CryptBlocks(content, content)
	return base64.StdEncoding.EncodeToString(append(vector, content...)), nil
}

// clock replaces the functions that read the clock: the time is fixed, and the local time zone is UTC.
func (r *run) clock(f template.FuncMap) {
	old := sprig.TxtFuncMap()
	inZone := old["dateInZone"].(func(string, any, string) string)
	f["now"] = func() time.Time {
		r.frozen["now"] = true
		return frozenTime
	}
	known := func(date any) any {
		switch date.(type) {
		case time.Time, *time.Time, int64, int, int32:
			return date
		}
		r.frozen["now"] = true // sprig uses the current time for a value that is not a date
		return frozenTime
	}
	zone := func(name string) string {
		if name == "Local" {
			return "UTC"
		}
		return name
	}
	f["date"] = func(layout string, date any) string { return inZone(layout, known(date), "UTC") }
	f["htmlDate"] = func(date any) string { return inZone("2006-01-02", known(date), "UTC") }
	f["htmlDateInZone"] = func(date any, name string) string { return inZone("2006-01-02", known(date), zone(name)) }
	f["dateInZone"] = func(layout string, date any, name string) string { return inZone(layout, known(date), zone(name)) }
	f["date_in_zone"] = f["dateInZone"]
	f["toDate"] = func(layout, text string) time.Time {
		date, _ := time.ParseInLocation(layout, text, time.UTC) // as in sprig: the zero time if the text is not a date
		return date
	}
	f["mustToDate"] = func(layout, text string) (time.Time, error) { return time.ParseInLocation(layout, text, time.UTC) }
	f["ago"] = func(date any) string {
		r.frozen["ago"] = true
		at := frozenTime
		switch date := date.(type) {
		case time.Time:
			at = date
		case int64:
			at = time.Unix(date, 0)
		case int:
			at = time.Unix(int64(date), 0)
		}
		return frozenTime.Sub(at).Round(time.Second).String()
	}
	round := old["durationRound"].(func(any) string)
	f["durationRound"] = func(duration any) string {
		if date, ok := duration.(time.Time); ok {
			r.frozen["durationRound"] = true
			return round(frozenTime.Sub(date).String())
		}
		return round(duration)
	}
}

// certificateFuncs returns the replacements of functions that make keys and certificates.
func (r *run) certificateFuncs() template.FuncMap {
	return template.FuncMap{
		"genPrivateKey": func(kind string) string { return privateKey(kind, r.stream("genPrivateKey", kind)) },
		"genCA": func(name string, days int) (certificate, error) {
			s := r.stream("genCA", name, days)
			return authority(name, days, rsaKey(2048, s), s)
		},
		"genCAWithKey": func(name string, days int, pem string) (certificate, error) {
			key, err := decodeKey(pem)
			if err != nil {
				return certificate{}, err
			}
			return authority(name, days, key, r.stream("genCAWithKey", name, days, pem))
		},
		"genSelfSignedCert": func(name string, ips, names []any, days int) (certificate, error) {
			s := r.stream("genSelfSignedCert", name, ips, names, days)
			return signed(name, ips, names, days, rsaKey(2048, s), nil, s)
		},
		"genSelfSignedCertWithKey": func(name string, ips, names []any, days int, pem string) (certificate, error) {
			key, err := decodeKey(pem)
			if err != nil {
				return certificate{}, err
			}
			return signed(name, ips, names, days, key, nil, r.stream("genSelfSignedCertWithKey", name, ips, names, days, pem))
		},
		"genSignedCert": func(name string, ips, names []any, days int, by certificate) (certificate, error) {
			s := r.stream("genSignedCert", name, ips, names, days, by)
			return signed(name, ips, names, days, rsaKey(2048, s), &by, s)
		},
		"genSignedCertWithKey": func(name string, ips, names []any, days int, by certificate, pem string) (
			certificate, error) {
			key, err := decodeKey(pem)
			if err != nil {
				return certificate{}, err
			}
			return signed(name, ips, names, days, key, &by, r.stream("genSignedCertWithKey", name, ips, names, days, by, pem))
		},
		"buildCustomCert": custom,
	}
}
