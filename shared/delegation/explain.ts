import type { CallFailure, CardFailure, ProtocolFault, TransportFault } from '../client/index.ts';
import type { Refused } from '../guard/index.ts';

/**
 * What went wrong with a remote agent, in words for administrators. Nothing that the agent wrote is repeated but codes,
 * reasons and names of fields, which the client has made safe (P10).
 */
export function explainCard(failure: CardFailure): string {
  switch (failure.kind) {
    case 'transport-error':
      return failure.failure.kind === 'status'
        ? `the card's URL answered with status ${failure.status}`
        : `the card could not be fetched: ${explainTransport(failure.failure)}`;
    case 'invalid-card': {
      const fields = failure.violations
        .slice(0, 5)
        .map(({ field, description }) => `${field} ${description}`);
      return `what the URL answers is no card: ${fields.join('; ')}`;
    }
    case 'signature-refused':
      switch (failure.why) {
        case 'unsigned':
          return 'the card is not signed, and a key is pinned for it';
        case 'not-by-pinned-key':
          return 'the card is not signed by the pinned key, or was changed since it was';
        case 'unusable-key':
          return 'the pinned key is no point on P-256';
      }
  }
}

/** Why a call came to nothing. */
export function explainCall(failure: CallFailure, withCredential: boolean): string {
  switch (failure.kind) {
    case 'remote-error':
      return explainStatus(failure.status, withCredential) ?? `the agent answered ${errorOf(failure)}`;
    case 'unsupported':
      return (
        explainStatus(failure.status, withCredential) ??
        `the agent does not do what was asked (${errorOf(failure)}); every A2A 1.0 agent has GetTask`
      );
    case 'protocol-error':
      return `the agent's answer is none of A2A: ${explainProtocol(failure.fault)}`;
    case 'transport-error':
      return failure.failure.kind === 'status'
        ? (explainStatus(failure.status ?? 0, withCredential) ??
            `the interface answered with status ${failure.status} and no JSON-RPC error`)
        : `the interface could not be reached: ${explainTransport(failure.failure)}`;
    case 'outcome-unknown':
      return `nobody knows whether the agent got the request: ${explainTransport(failure.failure)}`;
  }
}

function errorOf({ code, reason }: { readonly code: number; readonly reason?: string }): string {
  return reason ? `the error ${code}, ${reason}` : `the error ${code}`;
}

function explainStatus(status: number, withCredential: boolean): string | undefined {
  if (status === 401)
    return withCredential
      ? 'the agent does not accept the credential (401); replace it with agent rotate'
      : 'the agent wants a credential (401); give it one with agent rotate';
  if (status === 403)
    return withCredential
      ? 'the agent knows the credential and does not let it in (403)'
      : 'the agent lets nobody in without a credential (403)';
  if (status === 404) return 'there is no A2A interface at the URL that the card names (404)';
  if (status === 429) return 'the agent has too many requests now (429); try later';
  return undefined;
}

function explainProtocol(fault: ProtocolFault): string {
  switch (fault.kind) {
    case 'id-mismatch':
      return 'it has the id of another request';
    case 'task-mismatch':
      return 'it is about another task';
    case 'not-json':
      return 'it is no JSON';
    case 'not-json-rpc':
      return 'it is JSON and not JSON-RPC 2.0';
    case 'missing-result':
      return 'it has neither a result nor an error';
    case 'unknown-result':
      return 'its result is of an unknown kind';
    case 'wrong-shape':
      return `its result has the wrong shape in ${fault.violations
        .slice(0, 5)
        .map(({ field }) => field)
        .join(', ')}`;
  }
}

function explainTransport(fault: TransportFault): string {
  switch (fault.kind) {
    case 'refused':
      return `the address guard refuses it, since its URL ${explainRefusal(fault.rule)}`;
    case 'dns-failure':
      return `its name has no address now (${fault.reason})`;
    case 'connect-failure':
      return `no connection (${fault.code})`;
    case 'tls-failure':
      return `TLS failed (${fault.code})`;
    case 'reset':
      return `the connection was lost (${fault.code})`;
    case 'timeout':
      return 'it took too long';
    case 'response-too-large':
      return `the answer is too large (${fault.part})`;
    case 'malformed-response':
      return `the answer is no HTTP (${fault.code})`;
    case 'aborted':
      return 'the call was given up';
    case 'redirect':
      return `it redirects (${fault.status}), and no redirect is followed`;
    case 'status':
      return 'it answered with an error status';
    case 'ended':
      return 'the answer ended too early';
    case 'stream-limit':
      return 'the answer is too large';
  }
}

/** Continues "its URL …". */
export function explainRefusal(rule: Refused['rule']): string {
  switch (rule) {
    case 'scheme':
      return 'is not https';
    case 'port':
      return 'has a port that is not open for the agent (--port)';
    case 'own-host':
      return 'leads back to this gateway';
    case 'literal':
      return 'has an address for a host; only names are allowed';
    case 'single-label':
    case 'special-use':
      return 'has a host under a private or reserved name (--trusted-host lets one in)';
    case 'address':
      return 'has an address that is not public (--trusted-host lets one in)';
    case 'too-many-answers':
      return 'has more than 32 addresses';
    case 'pinning':
      return 'was connected to an address that was not vetted';
    case 'header':
    case 'credential':
      return 'is called with something that no header can carry';
    case 'length':
    case 'charset':
    case 'backslash':
    case 'fragment':
    case 'shape':
    case 'userinfo':
    case 'encoded-authority':
    case 'trailing-dot':
    case 'hostname':
    case 'not-allowed':
      return `is not written as https://name/path (${rule})`;
  }
}
