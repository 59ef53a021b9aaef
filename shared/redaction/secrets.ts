import type { Span } from './spans.ts';

/**
 * Credentials that show what they are: this gateway's tokens, keys of well-known issuers, JWTs, private keys, `Bearer`
 * and `Basic` values, URLs with a password. Each pattern begins with a fixed text and ends greedily, so that a text is
 * walked once.
 */
export function* findSecrets(text: string): Generator<Span> {
  for (const pattern of PATTERNS) {
    for (const { 0: found, index } of text.matchAll(pattern)) {
      yield { start: index, end: index + found.length, label: 'SECRET' };
    }
  }
  yield* findPrivateKeys(text);
  yield* findSchemes(text);
  for (const { 0: found, index } of text.matchAll(AWS_SECRET)) {
    if (/[a-z]/.test(found) && /[A-Z]/.test(found) && /\d/.test(found)) {
      yield { start: index, end: index + found.length, label: 'SECRET' };
    }
  }
}

const PATTERNS = [
  // Sealpost.
  /(?<![A-Za-z0-9])sp_[a-z0-9]{4,32}_[\w-]{16,}/g,
  // AWS: access key ids, Bedrock keys.
  /(?<![A-Za-z0-9])(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])ABSK[A-Za-z0-9+/=]{40,}/g,
  // GitHub, GitLab, Slack, npm, PyPI, Docker, Hugging Face.
  /(?<![A-Za-z0-9])(?:gh[oprsu]_\w{16,}|github_pat_\w{20,})/g,
  /(?<![A-Za-z0-9])gl(?:pat|ptt|dt|rt|cbt|soat)-[\w.-]{16,}/g,
  /(?<![A-Za-z0-9])xox[a-z](?:\.xox[a-z])?-[\w-]{8,}/g,
  /(?<![A-Za-z0-9])xapp-[\w-]{8,}/g,
  /hooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/-]{8,}/g,
  /(?<![A-Za-z0-9])(?:npm_\w{20,}|pypi-[\w-]{20,}|dckr_(?:pat|oat)_[\w-]{16,}|hf_[A-Za-z]{20,})/g,
  // OpenAI, Anthropic and others that follow them; Stripe; webhook secrets.
  /(?<![A-Za-z0-9])sk-[\w-]{16,}/g,
  /(?<![A-Za-z0-9])(?:[prs]k_(?:live|test|prod)_\w{10,}|whsec_[\w+/=-]{16,})/g,
  // Google, SendGrid, Twilio, Shopify, Grafana, Notion, Linear, Vault, DigitalOcean, Databricks.
  /(?<![A-Za-z0-9])(?:AIza[\w-]{30,}|ya29\.[\w-]{16,}|GOCSPX-[\w-]{16,})/g,
  /(?<![A-Za-z0-9])SG\.[\w-]{16,}\.[\w-]{16,}/g,
  /(?<![A-Za-z0-9])(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])/g,
  /(?<![A-Za-z0-9])(?:shp(?:at|ca|pa|ss)_\w{16,}|gl(?:c|sa)_[\w+/=]{20,}|ntn_\w{20,}|lin_api_\w{20,})/g,
  /(?<![A-Za-z0-9])(?:hv[bs]\.[\w-]{16,}|do[opr]_v1_[0-9a-f]{32,}|dapi[0-9a-f]{32})/g,
  /AGE-SECRET-KEY-1[A-Z0-9]{20,}/g,
  // JWT and JWE: a header, which is JSON in base64url, and what it is joined to.
  /(?<![\w-])eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g,
  // Signatures and tokens in the query of a signed URL.
  /(?<=[?&](?:amp;)?(?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=)[^&\s"'<>]+/gi,
  // User and password of a URL; a password may hold a slash, a port before a path is none.
  /(?<=:\/\/)[^\s/@:?#"'<>[]*:(?!\d{1,5}\/)[^\s@"'<>]{1,256}(?=@)/g,
  /(?<=:\/\/)[^\s/@:?#"'<>[]+(?=@)/g,
];

/** 40 characters of base64, as AWS makes its secret access keys; a digest in hex has one case only. */
const AWS_SECRET = /(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])/g;

/** A private key in PEM, to its end or, cut off, to the end of the text. */
function* findPrivateKeys(text: string): Generator<Span> {
  let end = 0;
  for (const { index } of text.matchAll(/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g)) {
    if (index < end) continue;
    KEY_END.lastIndex = index;
    end = KEY_END.test(text) ? KEY_END.lastIndex : text.length;
    yield { start: index, end, label: 'SECRET' };
  }
}
const KEY_END = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g;

/** What follows the name of an HTTP scheme, unless it reads as words: "bearer instruments", "basic read/write access". */
function* findSchemes(text: string): Generator<Span> {
  for (const { 0: found, 1: value = '', index } of text.matchAll(SCHEME)) {
    if (value.length >= 20 || /[\d=_]|[a-z][A-Z]|[A-Z]{3}/.test(value)) {
      yield { start: index + found.length - value.length, end: index + found.length, label: 'SECRET' };
    }
  }
}
const SCHEME = /(?<![A-Za-z0-9])(?:bearer|basic)[ \t:]{1,4}([\w.~+/=-]{6,})/gi;
