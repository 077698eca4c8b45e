package worker_test

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// natsCluster is three NATS servers on loopback that share their streams.
type natsCluster struct {
	t       *testing.T
	members []natsMember
	servers []*server.Server
}

func newNATSCluster(t *testing.T) *natsCluster {
	t.Helper()
	c := &natsCluster{t: t, members: natsMembers(t), servers: make([]*server.Server, 3)}
	for n := range 3 {
		c.start(n)
	}
	t.Cleanup(func() {
		for n := range 3 {
			c.stop(n)
		}
	})
	c.await()
	return c
}

// await waits until the cluster has found itself.
func (c *natsCluster) await() {
	c.t.Helper()
	late := time.Now().Add(30 * time.Second)
	for !c.settled() {
		if time.Now().After(late) {
			c.t.Fatal("the NATS cluster did not find itself")
		}
		<-time.After(50 * time.Millisecond)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *natsCluster) start(n int) {
	c.t.Helper()
	s, err := server.NewServer(c.members[n].options())
	if err != nil {
		c.t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		c.t.Fatal("a NATS server is not ready")
	}
	c.servers[n] = s
}

func (c *natsCluster) stop(n int) {
	if s := c.servers[n]; s != nil {
		s.Shutdown()
		s.WaitForShutdown()
		c.servers[n] = nil
	}
}

// settled reports whether all three are there, have a leader, and are up to date.
func (c *natsCluster) settled() bool {
	leader := false
	for _, s := range c.servers {
		if s == nil || !s.JetStreamIsCurrent() || len(s.JetStreamClusterPeers()) != 3 && s.JetStreamIsLeader() {
			return false
		}
		leader = leader || s.JetStreamIsLeader()
	}
	return leader
}

// url is what LINTEL_NATS_URL has to be.
func (c *natsCluster) url() string { return natsURL(c.members) }

func natsURL(members []natsMember) string {
	var all []string
	for _, m := range members {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", m.Port))
	}
	return strings.Join(all, ",")
}

// natsMember is what one server of a cluster has to know.
type natsMember struct {
	Name      string
	Port      int // for clients
	RoutePort int
	Routes    []int // ports of all
	Dir       string
}

func natsMembers(t *testing.T) []natsMember {
	t.Helper()
	members := make([]natsMember, 3)
	var routes []int
	for n := range members {
		members[n] = natsMember{Name: fmt.Sprintf("n%d", n), Port: freePort(t), RoutePort: freePort(t), Dir: t.TempDir()}
		routes = append(routes, members[n].RoutePort)
	}
	for n := range members {
		members[n].Routes = routes
	}
	return members
}

func (m natsMember) options() *server.Options {
	o := &server.Options{ServerName: m.Name, Host: "127.0.0.1", Port: m.Port, JetStream: true, StoreDir: m.Dir,
		NoSigs: true, NoLog: true, SyncAlways: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: m.RoutePort}}
	for _, port := range m.Routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return o
}
