// Package bus carries the messages of a master and its agents over NATS: over a server in
// the master's process ([Serve]), or over an external NATS cluster. The code is the same
// for both: [MasterConn] is the master's side, [AgentConn] an agent's.
//
// On the embedded server every subject that is not granted is denied: an agent
// authenticates with its nkey and gets the subjects of its own id, the holder of a join
// token may request to join, and the master connects within the process.
// docs/formats/cluster.md lists the subjects.
//
// A delivery is stored when [AgentConn.Deliver] returns without an error. The master
// receives it, in its agent's order, until it calls Receipt.Done, unless the bus loses its
// disk's data or replaces a stream that a full disk has broken: until [AgentConn.Committed]
// reports a delivery, its agent must be able to send it again. A command is carried out
// once, however often it is resent or replayed. All other messages may be lost and are
// repeated by their senders.
//
// The creator of a connection must close it: [AgentConn.Close], [MasterConn.Close], and
// then [Server.Close]. Methods that take functions run until their context ends and return
// after the last call. [Times] holds all timeouts; master, server and agents should use the
// same.
package bus
