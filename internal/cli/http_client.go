package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
)

// addClient adds the flags of how connections are made and used.
func (f *httpFlags) addClient(cmd *cobra.Command) {
	c, fs := &f.options.Client, cmd.Flags()
	timeVar(fs, &c.Timeout, "timeout", "", 60*time.Second, "time limit of a request")
	timeVar(fs, &c.ConnectTimeout, "connect-timeout", "", 10*time.Second, "time limit of connecting, TLS included")
	fs.BoolVar(&f.close, "disable-keepalive", false, "a connection for each request (Connection: close)")
	fs.BoolVarP(&c.Insecure, "insecure", "k", false, "accept any server certificate")
	fs.StringVar(&f.caFile, "cacert", "", "`FILE` with the certificates (PEM) of who may sign the server's")
	fs.StringVar(&f.cert, "cert", "", "`FILE` with a certificate (PEM) to show to servers")
	fs.StringVar(&f.keyPEM, "key", "", "`FILE` with the key of --cert, if that has not both")
	fs.StringVar(&c.ServerName, "sni", "", "server name to ask for and to check certificates against (default that of the URL)")
	fs.BoolVar(&c.NoResumption, "no-tls-resumption", false, "make each TLS handshake a full one, as new visitors do")
	fs.StringVar(&c.KeyLog, "tls-key-log", "", "append the secrets of TLS to this `FILE`, to read recorded traffic")
	fs.BoolVar(&c.HTTP2, "http2", false, "speak HTTP/2: by ALPN with https, with prior knowledge with http")
	fs.IntVar(&c.Streams, "streams", 1, "requests at once on each connection of HTTP/2, each a user")
	fs.BoolVarP(&f.follow, "location", "L", false, "follow redirects; a request is then all of them")
	fs.IntVar(&f.maxRedirects, "max-redirects", 10, "how many redirects --location follows")
	fs.BoolVar(&c.Cookies, "cookies", false, "each connection keeps the server's cookies and sends them back")
	fs.StringVarP(&c.User, "user", "u", "", "`NAME:PASSWORD` to log in with, by Basic")
	fs.BoolVar(&c.Digest, "digest", false, "log in by Digest")
	fs.StringVarP(&c.Proxy, "proxy", "x", "", "`URL` of a proxy: http, https, socks5 or socks5h; or environment")
	fs.StringVar(&c.Unix, "unix-socket", "", "connect to this Unix `SOCKET`, whatever the URL's host")
	fs.StringArrayVar(&c.Sources, "source", nil, "local `ADDRESS` or prefix (127.1.0.0/24) to connect from, in turn; may be repeated")
	fs.StringArrayVar(&c.Resolve, "resolve", nil, "`HOST:PORT:ADDRESS` in place of looking the name up; may be repeated")
	for _, name := range []string{"cacert", "cert", "key", "tls-key-log", "unix-socket"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// takeClient checks how connections are made, and reads what files say of it.
func (f *httpFlags) takeClient(cmd *cobra.Command) error {
	c, given := &f.options.Client, cmd.Flags().Changed
	switch {
	case c.Timeout <= 0:
		return usageError("", "--timeout is %v: want a time above 0", c.Timeout)
	case c.ConnectTimeout <= 0:
		return usageError("", "--connect-timeout is %v: want a time above 0", c.ConnectTimeout)
	case c.Streams < 1:
		return usageError("", "--streams is %d: want 1 or more", c.Streams)
	case c.Streams > 1 && !c.HTTP2:
		return usageError("add --http2", "--streams is of HTTP/2")
	case given("max-redirects") && !f.follow:
		return usageError("add -L", "--max-redirects is of --location")
	case f.maxRedirects < 1:
		return usageError("", "--max-redirects is %d: want 1 or more", f.maxRedirects)
	case c.Digest && c.User == "":
		return usageError("add --user NAME:PASSWORD", "--digest has nobody to log in")
	case f.keyPEM != "" && f.cert == "":
		return usageError("add --cert FILE", "--key has no certificate")
	}
	if f.follow {
		c.Redirects = f.maxRedirects
	}
	for _, file := range []struct {
		flag, name string
		to         *[]byte
	}{{"--cacert", f.caFile, &c.CA}, {"--cert", f.cert, &c.Cert}, {"--key", f.keyPEM, &c.Key}} {
		if file.name == "" {
			continue
		}
		var err error
		if *file.to, err = os.ReadFile(file.name); err != nil {
			return named(file.flag, err)
		}
	}
	if f.close {
		for i := range f.options.Targets {
			f.options.Targets[i].Default("Connection", "close")
		}
	}
	return nil
}
