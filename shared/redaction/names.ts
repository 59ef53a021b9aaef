import { foldText } from './fold.ts';

/**
 * What the name of a member says about its value: `secret` (`dbPassword`, `x-api-keys`, `password_value`), `tokens`
 * (secrets if they are texts, a count if they are numbers), `phone` (`phoneNumbers`), or that it is the value of
 * whatever holds it (`value`, `text`, `number`). However the name is written: camel, snake, kebab case, one or many.
 */
export type NameKind = 'secret' | 'tokens' | 'phone' | 'value';

export function kindOfName(name: string): NameKind | undefined {
  const words = foldText(name.slice(0, MAX_NAME)).split(BORDERS).filter(Boolean);
  for (let end = words.length; end > 0; end--) {
    const written = words.slice(0, end).join('').toLowerCase();
    if (TOKENS.test(written)) return 'tokens';
    if (SECRET.test(written) || isShort(words.slice(0, end))) return 'secret';
    if (PHONE.test(written)) return 'phone';
    if (!VALUE_WORDS.has(words[end - 1]!.toLowerCase())) return undefined;
  }
  return words.length > 0 ? 'value' : undefined;
}

/** No name is longer: a text in place of one is read as text anyway. */
const MAX_NAME = 200;
const BORDERS = /[^\p{L}\p{N}\p{M}]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Words for a secret, in the languages in which forms are written; a regular expression's source. */
export const SECRET_WORDS = [
  'pass[ _-]?(?:word|phrase|code)|passwd|passwort|passwörter|pwd|kennwort|kennwörter|mots?[ _-]?de[ _-]?passe',
  'contraseña|contrasena|senha|wachtwoord|lösenord|hasło|heslo|salasana|şifre|пароль|密码|密碼|パスワード|비밀번호',
  'secret|token|credential|connection[ _-]?string|(?:seed|recovery)[ _-]?phrase',
  '(?:security|verification|recovery|backup|auth|authentication|access)[ _-]?code|security[ _-]?answer',
  '(?:api|access|private|secret|encryption|signing|account|shared|master|ssh|hmac|auth|session|licen[cs]e|deploy|webhook)[ _-]?key',
].join('|');
/** What one word becomes when it is many. */
export const PLURAL = '(?:s|es|en)?';

const TOKENS = /tokens\d{0,2}$/;
const SECRET = new RegExp(
  `(?:${SECRET_WORDS}|authorization|cookie|jwt|mnemonic|^otp|^cvv2?|^cvc2?|^csc|^puk|^mdp)${PLURAL}\\d{0,2}$`,
  'u',
);
const PHONE =
  /(?:phone|telefon|telefono|téléphone|teléfono|mobile|cell|handy|fax|whatsapp|msisdn|contact|kontakt|rufnummer|^tel)(?:numbers?|nummern?|no|nr)?s?\d{0,2}$/u;

/** Short words that are parts of many others: alone, or after whose they are. */
function isShort(words: readonly string[]): boolean {
  const last = words.at(-1)!.toLowerCase();
  if (/^(?:pw|pws|otp|otps|cvv|cvv2|cvc|cvc2)\d{0,2}$/.test(last)) return true;
  if (!/^(?:pin|pins|pass)\d{0,2}$/.test(last)) return false;
  return words.length === 1 || OWNERS.has(words.at(-2)!.toLowerCase());
}
const OWNERS = new Set(
  'user my db admin root login smtp ftp mail email wifi wlan card sim account access security bank atm device debit credit old new current'.split(
    ' ',
  ),
);

const VALUE_WORDS = new Set(
  [
    'value values val text texts string str plain plaintext cleartext raw data content contents literal default',
    'hash hashed digest salt pem b64 base64 encoded encrypted binary current old new confirm confirmation repeat again',
    'number numbers num no nr nummer nummern e164 international national formatted',
    'home work office business private personal main primary secondary other alt emergency 1 2 3 4',
  ]
    .join(' ')
    .split(' '),
);
