package cli

import (
	"cmp"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gobench-io/gobench/internal/api/client"
	"github.com/gobench-io/gobench/internal/api/types"
)

// defaultMaster is the master's URL by default.
const defaultMaster = "http://127.0.0.1:8080"

// masterEnv and tokenEnv name the environment variables that replace gobench login: the
// master's URL, and an API token for it.
const (
	masterEnv = "GOBENCH_MASTER"
	tokenEnv  = "GOBENCH_TOKEN"
)

func (a *app) loginFile() string { return filepath.Join(a.dataDir(), "login.json") }

// saved returns the login that gobench login stored in login.json of --dir; nil, without an
// error, if there is no such file. For one that can't be read or parsed it returns an error with
// exit status 1.
func (a *app) saved() (*client.Saved, error) {
	l, err := client.ReadSaved(a.loginFile())
	if err != nil {
		return nil, &exitError{exitFailed, err, "gobench login makes another one"}
	}
	return l, nil
}

// save stores a login in place of the previous one, which remains on an error.
func (a *app) save(l *client.Saved) error {
	if err := l.Write(a.loginFile()); err != nil {
		return &exitError{exitFailed, err, dataStorage.hint(err)}
	}
	return nil
}

// masterFlags name a master, and the authorities of its certificate. An empty url stands
// for no --master: commands of this machine then use its history, and those of a master
// find its URL as app.client does.
type masterFlags struct {
	url    string
	caFile string
	caFlag string // that names caFile
}

// add adds them to a command.
func (f *masterFlags) add(cmd *cobra.Command, usage string) { f.addAs(cmd, usage, "cacert") }

// addAs adds them with another name for the flag of the master's certificates.
func (f *masterFlags) addAs(cmd *cobra.Command, usage, caFlag string) {
	cmd.Flags().StringVar(&f.url, "master", "", usage)
	f.addCA(cmd, caFlag)
}

// addCA adds the flag of the authorities under this name. It sets f.caFlag.
func (f *masterFlags) addCA(cmd *cobra.Command, caFlag string) {
	f.caFlag = caFlag
	cmd.Flags().StringVar(&f.caFile, caFlag, "", "`FILE` with the authorities (PEM) that may sign the master's certificate; gobench login stores them")
	_ = cmd.MarkFlagFilename(caFlag)
	_ = cmd.Flags().SetAnnotation(caFlag, authorityFlag, nil)
}

// authorityFlag annotates the flag of a command that names the master's authorities.
const authorityFlag = "gobench_master_authorities"

// untrusted returns the hint for a master whose certificate is not trusted, with the flag of
// the command that called it; empty if err is another error.
func untrusted(cmd *cobra.Command, err error) (hint string) {
	var e *client.UntrustedError
	if !errors.As(err, &e) {
		return ""
	}
	hint = "gobench login " + e.URL + " --cacert FILE stores its authority"
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[authorityFlag]; ok {
			hint = "name the file of its authority with --" + f.Name
		}
	})
	return hint
}

// authorities returns the certificates (PEM) of the flag's file; empty if the flag is not
// set. A file that can't be read or has no certificate is a usage error.
func (f *masterFlags) authorities() (string, error) {
	if f.caFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(f.caFile)
	if err != nil {
		return "", usageError("", "--%s: %w", f.caFlag, err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(b) {
		return "", usageError("it has to begin with -----BEGIN CERTIFICATE-----", "--%s %s: the file has no certificate", f.caFlag, f.caFile)
	}
	return string(b), nil
}

// ofMaster is the help of --master for commands that always need a master.
const ofMaster = "`URL` of the master (default that of gobench login or GOBENCH_MASTER, else " + defaultMaster + ")"

// client returns a client of the master at at.url, or else of GOBENCH_MASTER, of the
// stored login, or of defaultMaster. The token is that of GOBENCH_TOKEN, or else of the
// login; the login's token and certificates are used for its own master only. It does not
// connect: an error is of a flag, a variable or the stored login. The caller must close
// the client.
func (a *app) client(at masterFlags) (*client.Client, error) {
	ca, err := at.authorities()
	if err != nil {
		return nil, err
	}
	login, err := a.saved()
	if err != nil {
		return nil, err
	}
	url, said := at.url, "--master"
	if url == "" {
		url, said = os.Getenv(masterEnv), masterEnv
	}
	if url == "" {
		url, said = login.URLOr(defaultMaster), "the login"
	}
	if url, err = client.Address(url); err != nil {
		return nil, usageError("", "%s: %w", said, err)
	}
	token := os.Getenv(tokenEnv)
	if login != nil && login.URL == url {
		token, ca = cmp.Or(token, login.Token), cmp.Or(ca, login.CA)
	}
	return connectTo(url, token, ca)
}

// connectTo returns a client of the master at url that trusts the authorities in ca (PEM)
// besides the system's; ca and token may be empty. It does not connect. An invalid url is
// a usage error. The caller must close the client.
func connectTo(url, token, ca string) (*client.Client, error) {
	c, err := client.New(url, client.Options{Token: token, CA: ca})
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	return c, nil
}

// refusal returns err, of a request to a master, with exit status 2 if the master answered
// 400, 404 or 422, and with a hint to log in if it requires that. Other errors, those that
// have an exit status already and nil are unchanged.
func refusal(err error) error {
	var e *client.Error
	_, known := statusOf(err)
	switch {
	case known || !errors.As(err, &e):
		return err
	case e.Code == types.Unauthenticated:
		return &exitError{exitFailed, err, "log in first: gobench login [URL]"}
	case e.Status == 422 || e.Status == 400 || e.Status == 404:
		return &exitError{exitUsage, err, ""}
	}
	return err
}
