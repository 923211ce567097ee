package servers

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// NameServer answers questions about names over UDP. Names are in lower case. Its methods
// may be called at any time.
type NameServer struct {
	Addr string // 127.0.0.1:PORT

	mu    sync.Mutex
	names map[string][]netip.Addr
	mode  NameFault
	asked map[string]int
}

// NameFault is how a name server fails.
type NameFault int

const (
	NamesWork   NameFault = iota
	NamesFail             // it answers that it failed (SERVFAIL)
	NamesSilent           // it does not answer
)

// Names starts a name server, which ends with the test, that knows the addresses of the
// given names; others do not exist.
func Names(t testing.TB, names map[string][]string) *NameServer {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &NameServer{Addr: pc.LocalAddr().String(), names: map[string][]netip.Addr{}, asked: map[string]int{}}
	for name, addrs := range names {
		s.Set(name, addrs...)
	}
	var done sync.WaitGroup
	done.Go(func() {
		b := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			if answer := s.answer(b[:n]); answer != nil {
				_, _ = pc.WriteTo(answer, from)
			}
		}
	})
	t.Cleanup(func() {
		pc.Close()
		done.Wait()
	})
	return s
}

// Set replaces the addresses of a name, which take effect at once: answers have a TTL of 0.
// Without addresses the name no longer exists. It panics if one is no IP address.
func (s *NameServer) Set(name string, addrs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, name)
	for _, a := range addrs {
		s.names[name] = append(s.names[name], netip.MustParseAddr(a))
	}
}

// Break makes the server fail, or work again.
func (s *NameServer) Break(f NameFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = f
}

// Asked returns how many questions for the IPv4 address of a name came, also those that
// were not answered.
func (s *NameServer) Asked(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[name]
}

// answer returns the answer to a message with one question (RFC 1035, section 4): SERVFAIL
// while the server fails, NXDOMAIN for an unknown name, no addresses for another type than A
// and AAAA. It returns nil if the message is malformed or the server is silent.
func (s *NameServer) answer(question []byte) []byte {
	const head, a, aaaa = 12, 1, 28
	if len(question) < head {
		return nil
	}
	var labels []string
	at := head
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end > len(question) {
			return nil
		}
		labels = append(labels, string(question[at+1:end]))
		at = end
	}
	at++
	if at+4 > len(question) {
		return nil
	}
	name, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(question[at:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == a {
		s.asked[name]++
	}
	if s.mode == NamesSilent {
		return nil
	}
	addrs, known := s.names[name]
	code := byte(0)
	switch {
	case s.mode == NamesFail:
		code, addrs = 2, nil
	case !known:
		code = 3
	}
	answer := append([]byte(nil), question[:at+4]...)
	answer[2], answer[3] = 0x84|question[2]&1, 0x80|code
	clear(answer[6:head]) // counts
	n := uint16(0)
	for _, ip := range addrs {
		if ip.Is4() != (kind == a) || kind != a && kind != aaaa {
			continue
		}
		n++
		answer = append(answer, 0xc0, head) // the name, as it stands in the question
		answer = binary.BigEndian.AppendUint16(answer, kind)
		answer = append(answer, 0, 1, 0, 0, 0, 0) // class IN, TTL 0
		answer = binary.BigEndian.AppendUint16(answer, uint16(ip.BitLen()/8))
		answer = append(answer, ip.AsSlice()...)
	}
	binary.BigEndian.PutUint16(answer[6:], n)
	return answer
}
