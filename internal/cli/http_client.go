package cli

import (
	"os"
	"time"

	"github.com/spf13/cobra"
)

// addClient adds the flags of connections.
func (f *httpFlags) addClient(cmd *cobra.Command) {
	c, fs := &f.options.Client, cmd.Flags()
	timeVar(fs, &c.Timeout, "timeout", "", 60*time.Second, "time limit of a request")
	timeVar(fs, &c.ConnectTimeout, "connect-timeout", "", 10*time.Second, "time limit of connecting, TLS included")
	fs.BoolVar(&f.close, "disable-keepalive", false, "open a connection for each request (Connection: close)")
	fs.BoolVarP(&c.Insecure, "insecure", "k", false, "accept any server certificate")
	fs.StringVar(&f.caFile, "cacert", "", "`FILE` with the authorities (PEM) that may sign the server's certificate")
	fs.StringVar(&f.cert, "cert", "", "`FILE` with a certificate (PEM) to show to servers")
	fs.StringVar(&f.keyPEM, "key", "", "`FILE` with the key of --cert, if that file has no key")
	fs.StringVar(&c.ServerName, "sni", "", "server name to send and to check certificates against (default that of the URL)")
	fs.BoolVar(&c.Resend, "resend", false, "send a GET, HEAD, PUT or DELETE again when a reused connection turns out to be closed after it was sent; the server may have seen it, and http.resent counts it")
	fs.BoolVar(&c.NoResumption, "no-tls-resumption", false, "make a full TLS handshake on each connection, as new visitors do")
	fs.StringVar(&c.KeyLog, "tls-key-log", "", "append TLS secrets to this `FILE`, to decrypt captured traffic")
	fs.BoolVar(&c.HTTP2, "http2", false, "use HTTP/2: by ALPN with https, by prior knowledge with http")
	fs.IntVar(&c.Streams, "streams", 1, "concurrent requests on each HTTP/2 connection, each of them a user")
	fs.BoolVarP(&f.follow, "location", "L", false, "follow redirects; a request then includes all of them")
	fs.IntVar(&f.maxRedirects, "max-redirects", 10, "most redirects that --location follows")
	fs.BoolVar(&c.Cookies, "cookies", false, "store the server's cookies for each connection and send them back")
	fs.StringVarP(&c.User, "user", "u", "", "`NAME:PASSWORD` for Basic authentication")
	fs.BoolVar(&c.Digest, "digest", false, "use Digest authentication")
	fs.StringVarP(&c.Proxy, "proxy", "x", "", "`URL` of a proxy: http, https, socks5 or socks5h; or environment, for that of the environment")
	fs.StringVar(&c.Unix, "unix-socket", "", "connect to this Unix `SOCKET`, whatever the URL's host")
	fs.StringArrayVar(&c.Sources, "source", nil, "local `ADDRESS` or prefix (127.1.0.0/24) to connect from, in turn; may be repeated")
	fs.StringArrayVar(&c.Resolve, "resolve", nil, "`HOST:PORT:ADDRESS` in place of looking the name up; may be repeated")
	for _, name := range []string{"cacert", "cert", "key", "tls-key-log", "unix-socket"} {
		_ = cmd.MarkFlagFilename(name)
	}
}

// takeClient checks the flags of connections and completes options.Client, with the
// contents of --cacert, --cert and --key. With --disable-keepalive it adds Connection:
// close to the targets, so takeTargets must come first. An error is a usage error.
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
		return usageError("add --http2", "--streams needs HTTP/2")
	case given("max-redirects") && !f.follow:
		return usageError("add -L", "--max-redirects needs --location")
	case f.maxRedirects < 1:
		return usageError("", "--max-redirects is %d: want 1 or more", f.maxRedirects)
	case c.Digest && c.User == "":
		return usageError("add --user NAME:PASSWORD", "--digest needs a user")
	case f.keyPEM != "" && f.cert == "":
		return usageError("add --cert FILE", "--key needs a certificate")
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
