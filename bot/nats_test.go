package bot_test

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
	options []*server.Options
	servers []*server.Server
}

func newNATSCluster(t *testing.T) *natsCluster {
	t.Helper()
	c := &natsCluster{t: t}
	var routes []*url.URL
	for n := range 3 {
		o := &server.Options{ServerName: fmt.Sprintf("n%d", n), Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: freePort(t)}}
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", o.Cluster.Port)})
		c.options = append(c.options, o)
	}
	c.servers = make([]*server.Server, 3)
	for n := range 3 {
		c.options[n].Routes = routes
		c.start(n)
	}
	t.Cleanup(func() {
		for n := range 3 {
			c.stop(n)
		}
	})
	late := time.Now().Add(30 * time.Second)
	for !c.settled() {
		if time.Now().After(late) {
			t.Fatal("the NATS cluster did not find itself")
		}
		<-time.After(50 * time.Millisecond)
	}
	return c
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
	s, err := server.NewServer(c.options[n].Clone())
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
func (c *natsCluster) url() string {
	var all []string
	for _, o := range c.options {
		all = append(all, fmt.Sprintf("nats://127.0.0.1:%d", o.Port))
	}
	return strings.Join(all, ",")
}
