package service

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const certsUsage = "usage: bash-plugin certs DIR [NAME or IP of the plugin's machine …]"

const certsHelp = certsUsage + `

Makes the folder DIR with a CA, and with certificates and keys for a plugin and a host.
They last a year. The plugin's is for the names given, localhost, 127.0.0.1 and ::1.
`

// certs is the subcommand that makes certificates, or prints how to call it.
func certs(args []string) error {
	for _, arg := range args {
		switch {
		case slices.Contains([]string{"-h", "--h", "-help", "--help"}, arg):
			_, err := fmt.Print(certsHelp)
			return err
		case strings.HasPrefix(arg, "-"):
			return fmt.Errorf("certs has no flag %q; a folder of that name is ./%s", arg, arg)
		}
	}
	if len(args) == 0 {
		return errors.New(certsUsage)
	}
	return makeCerts(args[0], args[1:])
}

// makeCerts makes a CA, and certificates for a plugin and a host, in a new folder. The
// names and addresses are those of the plugin's machine.
func makeCerts(dir string, names []string) error {
	if err := os.Mkdir(dir, 0o700); err != nil { // nothing is overwritten
		return err
	}
	ca := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	plugin := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	host := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, name := range append(names, "localhost", "127.0.0.1", "::1") {
		if ip := net.ParseIP(name); ip != nil {
			plugin.IPAddresses = append(plugin.IPAddresses, ip)
		} else {
			plugin.DNSNames = append(plugin.DNSNames, name)
		}
	}
	signer, err := writeCert(dir, "ca", ca, ca, nil)
	if err != nil {
		return err
	}
	_, err = writeCert(dir, "plugin", plugin, ca, signer)
	if err != nil {
		return err
	}
	_, err = writeCert(dir, "host", host, ca, signer)
	return err
}

// writeCert makes a certificate and its key, and writes them to files. The signer is the key
// of ca; nil: the certificate is signed by its own key.
func writeCert(dir, name string, cert, ca *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	cert.Subject.CommonName = name
	cert.NotBefore = time.Now().Add(-time.Hour)
	cert.NotAfter = time.Now().AddDate(1, 0, 0)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.CreateCertificate(rand.Reader, cert, ca, key.Public(), cmp.Or(signer, key))
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	err = writePEM(filepath.Join(dir, name+".pem"), "CERTIFICATE", public)
	if err != nil {
		return nil, err
	}
	return key, writePEM(filepath.Join(dir, name+"-key.pem"), "PRIVATE KEY", private)
}

func writePEM(path, kind string, content []byte) error {
	block := &pem.Block{Type: kind, Bytes: content}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
