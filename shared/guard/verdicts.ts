/** Why a text was refused before anything was resolved (rule 1 of the address guard). */
export type TextRule =
  | 'length'
  | 'charset'
  | 'backslash'
  | 'fragment'
  | 'scheme'
  | 'shape'
  | 'userinfo'
  | 'encoded-authority'
  | 'literal'
  | 'trailing-dot'
  | 'hostname'
  | 'single-label'
  | 'special-use'
  | 'port'
  | 'own-host'
  | 'not-allowed';

/** What an address is, as far as the guard has to know. `global` is the only class that anyone may be sent to. */
export type AddressClass =
  | 'global'
  | 'unspecified'
  | 'loopback'
  | 'private'
  | 'shared'
  | 'link-local'
  | 'metadata'
  | 'documentation'
  | 'benchmark'
  | 'multicast'
  | 'reserved'
  | 'embedded-ipv4'
  | 'not-an-address';

/**
 * A refusal of the guard: final, and never sent. `rule` and `addressClass` are for the audit log and the operator;
 * the caller sees {@link REFUSAL_MESSAGE} only, because the class would tell it what our network looks like.
 */
export interface Refused {
  readonly verdict: 'refuse';
  readonly rule: TextRule | 'address' | 'too-many-answers' | 'header' | 'credential' | 'pinning';
  readonly addressClass?: AddressClass;
}

/** The one sentence a remote caller gets of a URL for any refusal, whatever the rule and however long it took. */
export const REFUSAL_MESSAGE = 'cannot be used: a webhook needs a public https URL without a user name';

export function refuse(rule: Refused['rule'], addressClass?: AddressClass): Refused {
  return addressClass === undefined ? { verdict: 'refuse', rule } : { verdict: 'refuse', rule, addressClass };
}
