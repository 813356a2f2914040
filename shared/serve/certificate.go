package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// mutualTLS makes a configuration that accepts only the owner of the client
// certificate, in PEM. It also returns the plugin's own certificate, encoded for
// the handshake. A host without AutoMTLS has no certificate: both are empty then.
func mutualTLS(client string) (config *tls.Config, cert string, err error) {
	if client == "" {
		return nil, "", nil
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM([]byte(client)) {
		return nil, "", errors.New("PLUGIN_CLIENT_CERT is not a certificate in PEM")
	}
	own, err := newCertificate()
	if err != nil {
		return nil, "", fmt.Errorf("cannot make a certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS13,
	}, base64.RawStdEncoding.EncodeToString(own.Certificate[0]), nil
}

// newCertificate makes a certificate for this process alone, under the name
// that go-plugin's client asks for.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		DNSNames:     []string{"localhost"},
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(30, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
