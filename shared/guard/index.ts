export { type AnswersVerdict, classifyAddress, classifyAnswers } from './addresses.ts';
export { checkCredential, checkHeaders } from './credential.ts';
export { type Fetch, type GuardedFetchOptions, guardedFetch } from './fetch.ts';
export {
  type AdministeredPolicy,
  type CallPolicy,
  type CheckOptions,
  type CheckResult,
  createGuard,
  type Guard,
  type GuardOptions,
  type RequestCall,
  type StreamCall,
  type WebhookPolicy,
} from './guard.ts';
export {
  type Answer,
  ExchangeError,
  type Failure,
  type OpenStream,
  type Outcome,
  type Phase,
  type StreamOutcome,
} from './outcome.ts';
export { type AddressResolver, type DnsReason, dnsResolver, type Resolution } from './resolver.ts';
export { type Allowed, checkText, type TextPolicy } from './text.ts';
export { type AddressClass, REFUSAL_MESSAGE, type Refused, type TextRule } from './verdicts.ts';
