package api

import (
	"context"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// agents returns the agents that have joined, also revoked ones, with what their last heartbeat
// reported, if one has come.
func (s *Server) agents(ctx context.Context, _ *empty) (*body[types.List[types.Agent]], error) {
	all, err := s.master.Agents(ctx)
	if err != nil {
		return nil, err
	}
	list := types.List[types.Agent]{Items: []types.Agent{}}
	for _, a := range all {
		out := types.Agent{Agent: a.Agent, State: a.State, Why: a.Why, Offset: a.Offset.Seconds(), Error: a.Error.Seconds()}
		out.Beat(a.Beat)
		list.Items = append(list.Items, out)
	}
	return answer(list), nil
}

func (s *Server) revokeAgent(ctx context.Context, in *byID) (*empty, error) {
	return nil, s.master.RevokeAgent(ctx, in.ID, requestOf(ctx).caller.user.Name)
}

// joinLife is the default validity of a join token.
const joinLife = 10 * time.Minute

func (s *Server) joinTokens(ctx context.Context, _ *empty) (*body[types.List[run.JoinToken]], error) {
	all, err := s.master.JoinTokens(ctx)
	return answer(types.List[run.JoinToken]{Items: orEmpty(all)}), err
}

// newJoinToken creates a token for one agent, valid for joinLife unless the request says
// otherwise. The answer has its text, which is not stored.
func (s *Server) newJoinToken(ctx context.Context, in *withBody[types.NewJoinToken]) (*body[types.MadeJoinToken], error) {
	life := joinLife
	if in.Body.Minutes > 0 {
		life = time.Duration(in.Body.Minutes) * time.Minute
	}
	q := requestOf(ctx)
	t, text, err := s.master.JoinToken(ctx, life, q.caller.user.Name)
	if err != nil {
		return nil, err
	}
	q.object = t.ID
	return answer(types.MadeJoinToken{JoinToken: *t, Text: text}), nil
}
