package host

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// LoadTLS reads files in PEM: a certificate with its key, and the certificates of the CAs
// that sign the other side's. Connect and Remote take the result.
func LoadTLS(cert, key, ca string) (*tls.Config, error) {
	if cert == "" || key == "" || ca == "" {
		return nil, errors.New("three files are needed: a certificate, its key and the certificate " +
			"of the other side's CA (bash-plugin certs makes them)")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %q with the key %q: %w", cert, key, err)
	}
	pool := x509.NewCertPool()
	if text, err := os.ReadFile(ca); err != nil || !pool.AppendCertsFromPEM(text) {
		err = errors.Join(err, errors.New("it must be in PEM"))
		return nil, fmt.Errorf("cannot use the CA's certificate %q: %w", ca, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool}, nil
}
