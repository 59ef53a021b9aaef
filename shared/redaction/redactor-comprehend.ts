import {
  ComprehendClient,
  DetectPiiEntitiesCommand,
  type LanguageCode,
  type PiiEntity,
} from '@aws-sdk/client-comprehend';
import { locate, type Passage, packPassages } from './passages.ts';
import { patternDetector, redactText } from './pattern.ts';
import {
  type RedactionFault,
  type RedactionOptions,
  RedactionUnavailable,
  type Redactor,
} from './redactor.ts';
import type { Label, Span } from './spans.ts';

export type { ComprehendClient };

/** What DetectPiiEntities takes at once, bytes of UTF-8: "100 KB", read as the smaller of its two meanings. */
export const MAX_PASSAGE_BYTES = 100_000;
/** Requests in flight for one batch of texts; the service's own quota is per account and low. */
const CONCURRENCY = 4;

/** Credentials come from the SDK's default chain. Three attempts of at most 5 s: reads wait for them. */
export function createComprehendClient(environment: {
  readonly AWS_REGION: string;
  readonly AWS_ENDPOINT_URL_COMPREHEND?: string | undefined;
}): ComprehendClient {
  const endpoint = environment.AWS_ENDPOINT_URL_COMPREHEND;
  return new ComprehendClient({
    region: environment.AWS_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
  });
}

/**
 * Redacts what Amazon Comprehend or the patterns find (design §7): names and addresses by the one, credentials and the
 * profile's words by the other. Equal texts are sent once, short ones together. Any failure, an answer that does not fit
 * its text included, is `RedactionUnavailable`: nothing is answered that Comprehend has not seen.
 */
export function createComprehendRedactor(client: ComprehendClient): Redactor {
  return {
    async redactTexts(texts, options) {
      const unique = [...new Set(texts)];
      const found = await detect(client, unique, options);
      const find = patternDetector(options.words);
      const redacted = new Map(unique.map((text, index) => [text, redactText(text, find, found[index])]));
      return texts.map((text) => redacted.get(text)!);
    },
  };
}

async function detect(
  client: ComprehendClient,
  texts: readonly string[],
  options: RedactionOptions,
): Promise<Span[][]> {
  const found: Span[][] = texts.map(() => []);
  const passages = packPassages(texts, MAX_PASSAGE_BYTES).values();
  const abort = new AbortController();
  const work = async () => {
    for (const passage of passages) {
      const entities = await detectIn(client, passage, options.language ?? 'en', abort.signal);
      place(passage, entities, options, found);
    }
  };
  try {
    await Promise.all(Array.from({ length: CONCURRENCY }, work));
  } catch (error) {
    abort.abort();
    throw error;
  }
  return found;
}

async function detectIn(
  client: ComprehendClient,
  passage: Passage,
  language: string,
  abortSignal: AbortSignal,
): Promise<readonly PiiEntity[]> {
  const command = new DetectPiiEntitiesCommand({
    Text: passage.content,
    LanguageCode: language as LanguageCode,
  });
  let answer: { readonly Entities?: readonly PiiEntity[] | undefined };
  try {
    answer = await client.send(command, { abortSignal });
  } catch (error) {
    throw new RedactionUnavailable(faultOf(error));
  }
  if (!Array.isArray(answer.Entities)) throw new RedactionUnavailable('invalid-answer');
  return answer.Entities;
}

function place(
  passage: Passage,
  entities: readonly PiiEntity[],
  options: RedactionOptions,
  found: readonly Span[][],
): void {
  const placesOf = locate(passage);
  for (const { Type = '', BeginOffset, EndOffset } of entities) {
    if (options.keepTypes?.includes(Type)) continue;
    const places = placesOf(BeginOffset, EndOffset);
    if (!places) throw new RedactionUnavailable('invalid-answer');
    for (const { text, start, end } of places) found[text]?.push({ start, end, label: labelOf(Type) });
  }
}

/** Types that are not listed, and those that Comprehend will learn, are still redacted. */
function labelOf(type: string): Label {
  return Object.hasOwn(LABEL_OF, type) ? LABEL_OF[type]! : 'PII';
}

const LABEL_OF: Readonly<Record<string, Label>> = {
  EMAIL: 'EMAIL',
  PHONE: 'PHONE',
  IP_ADDRESS: 'IP',
  URL: 'URL',
  NAME: 'NAME',
  ADDRESS: 'ADDRESS',
  AGE: 'AGE',
  DATE_TIME: 'DATE',
  USERNAME: 'USER',
  PASSWORD: 'SECRET',
  PIN: 'SECRET',
  AWS_ACCESS_KEY: 'SECRET',
  AWS_SECRET_KEY: 'SECRET',
  CREDIT_DEBIT_CVV: 'SECRET',
  CREDIT_DEBIT_NUMBER: 'CARD',
  CREDIT_DEBIT_EXPIRY: 'CARD',
  INTERNATIONAL_BANK_ACCOUNT_NUMBER: 'IBAN',
  BANK_ACCOUNT_NUMBER: 'ACCOUNT',
  BANK_ROUTING: 'ACCOUNT',
  SWIFT_CODE: 'ACCOUNT',
  SSN: 'ID',
  PASSPORT_NUMBER: 'ID',
  DRIVER_ID: 'ID',
  LICENSE_PLATE: 'ID',
  VEHICLE_IDENTIFICATION_NUMBER: 'ID',
  UK_NATIONAL_INSURANCE_NUMBER: 'ID',
  UK_NATIONAL_HEALTH_SERVICE_NUMBER: 'ID',
  UK_UNIQUE_TAXPAYER_REFERENCE_NUMBER: 'ID',
  CA_SOCIAL_INSURANCE_NUMBER: 'ID',
  CA_HEALTH_NUMBER: 'ID',
  US_INDIVIDUAL_TAX_IDENTIFICATION_NUMBER: 'ID',
  IN_PERMANENT_ACCOUNT_NUMBER: 'ID',
  IN_AADHAAR: 'ID',
  IN_VOTER_NUMBER: 'ID',
  IN_NREGA: 'ID',
};

/** What the service said goes no further: an error of the SDK may quote the text (P10). */
function faultOf(error: unknown): RedactionFault {
  const { name, $metadata } = error as { name?: unknown; $metadata?: { httpStatusCode?: unknown } };
  const status = $metadata?.httpStatusCode;
  if (status === 429 || /Throttl|TooManyRequests/.test(String(name))) return 'throttled';
  if (name === 'CredentialsProviderError') return 'configuration';
  return typeof status === 'number' && status >= 400 && status < 500 ? 'configuration' : 'unavailable';
}
