import { describe, expect, it } from 'vitest';
import { selectInterface } from '../../shared/client/index.ts';
import type { AgentInterface } from '../../shared/protocol/index.ts';

const CARD = 'https://agent.example.com/.well-known/agent-card.json';

function offer(change: Partial<AgentInterface> = {}): AgentInterface {
  return {
    url: 'https://agent.example.com/rpc',
    protocolBinding: 'JSONRPC',
    protocolVersion: '1.0',
    ...change,
  };
}

function choose(supportedInterfaces: AgentInterface[], allowed?: string[]) {
  return selectInterface({ supportedInterfaces }, CARD, allowed);
}

describe('the interface of a card', () => {
  it('is the first that can be spoken; other bindings, URIs and versions are skipped (K10)', () => {
    const first = offer({ tenant: 'translate', protocolVersion: '1.0.7' });
    const chosen = choose([
      offer({ protocolBinding: 'GRPC' }),
      offer({ protocolBinding: 'https://bindings.example.com/mqtt/v1' }),
      offer({ protocolBinding: 'jsonrpc' }),
      offer({ protocolBinding: 'HTTP+JSON' }),
      offer({ protocolVersion: '0.3' }),
      offer({ protocolVersion: '1.1' }),
      offer({ url: 'agent.example.com:443' }),
      offer({ url: 'not a url' }),
      first,
      offer(),
    ]);
    expect(chosen).toEqual({ kind: 'selected', interface: first });
  });

  it.each(['1.0', '1.0.0', '1.0.12'])('may have version %s', (protocolVersion) => {
    expect(choose([offer({ protocolVersion })])).toMatchObject({ kind: 'selected' });
  });

  it.each(['', '1', '1.1', '2.0', '0.3.0', '1.00', '1.0-rc', 'v1.0'])(
    'may not have version %j',
    (protocolVersion) => {
      expect(choose([offer({ protocolVersion })])).toMatchObject({ kind: 'no-compatible-interface' });
    },
  );

  it('is told where there is none that can be spoken, cut to what a person reads', () => {
    expect(choose([offer({ protocolBinding: 'GRPC' }), offer({ protocolVersion: '9'.repeat(100) })])).toEqual(
      {
        kind: 'no-compatible-interface',
        offered: [
          { protocolBinding: 'GRPC', protocolVersion: '1.0' },
          { protocolBinding: 'JSONRPC', protocolVersion: '9'.repeat(64) },
        ],
      },
    );
  });

  it.each([
    'https://other.example.com/rpc',
    'https://agent.example.com:8443/rpc',
    'http://agent.example.com/rpc',
    'https://agent.example.com.evil.example.net/',
    'https://agent.example.com@evil.example.net/',
  ])('is refused on another origin than the card: %s', (url) => {
    const { origin } = new URL(url);
    expect(choose([offer({ url }), offer()])).toEqual({
      kind: 'origin-refused',
      origin,
      cardOrigin: 'https://agent.example.com',
    });
  });

  it('may be on an origin that was allowed', () => {
    const elsewhere = offer({ url: 'https://rpc.example.com/a' });
    expect(choose([elsewhere], ['https://rpc.example.com'])).toMatchObject({ kind: 'selected' });
    expect(choose([elsewhere], ['https://rpc.example.com:443/'])).toMatchObject({ kind: 'selected' });
    expect(choose([elsewhere], ['rpc.example.com', 'https://example.com'])).toMatchObject({
      kind: 'origin-refused',
    });
  });

  it('may write its origin in another case, and name the default port', () => {
    expect(choose([offer({ url: 'HTTPS://AGENT.example.com:443/rpc' })])).toMatchObject({ kind: 'selected' });
  });
});
