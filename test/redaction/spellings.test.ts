import { describe, expect, it } from 'vitest';
import { createPatternRedactor } from '../../shared/redaction/index.ts';

const redactor = createPatternRedactor();
const words = ['Projekt Aurora', 'falcon'];
const redact = async (text: string) => (await redactor.redactTexts([text], { words }))[0];

/** The same thing in other spellings: whatever a person, a form or an encoder makes of it. */
const FOUND: Record<string, readonly (readonly [text: string, redacted: string])[]> = {
  'e-mail addresses': [
    ['jane&co@example.com, bounce+jane=example.org@list.example', '[EMAIL], [EMAIL]'],
    ['?a=1&to=jane@example.com', '?a=1&to=[EMAIL]'],
    ['"jane doe"@example.com, "jane"@example.com', '[EMAIL], [EMAIL]'],
    ['{"a":"\\"jane doe\\"@example.com"}', '{"a":"[EMAIL]"}'],
    ['jane﹫example.com, jane＠example．com, jane@example。com', '[EMAIL], [EMAIL], [EMAIL]'],
    ['𝐣𝐚𝐧𝐞@𝐞𝐱𝐚𝐦𝐩𝐥𝐞.𝐜𝐨𝐦', '[EMAIL]'],
    ['jane&#64;example.com jane&#x40;example.com jane&commat;example&period;com', '[EMAIL] [EMAIL] [EMAIL]'],
    ['jane&amp;#64;example.com jane%40example.com jane%2540example.com', '[EMAIL] [EMAIL] [EMAIL]'],
    ['jane\\u0040example.com jane\\\\u0040example.com jane\\x40example.com', '[EMAIL] [EMAIL] [EMAIL]'],
    ['jane\u2069@\u2066example.com ja\u034fne@exa\u{e0061}mple.com', '[EMAIL] [EMAIL]'],
    ['jane@mail_server.example.com', '[EMAIL]'],
  ],
  'telephone numbers': [
    ['612 34 56 78; 12 34 56 78; 44 668 18 00; 612-345-678', '[PHONE]; [PHONE]; [PHONE]; [PHONE]'],
    ['01711234567, 0612345678, 015112345678', '[PHONE], [PHONE], [PHONE]'],
    ['ring 555-1234.', 'ring [PHONE].'],
    ['912 345-67-89 or 8 (912) 345-67-89 or (11) 91234-5678', '[PHONE] or [PHONE] or [PHONE]'],
    ['{"contact":491711234567}', '{"contact":[PHONE]}'],
    ['phoneNumbers: ["612345678", "612345679"]', 'phoneNumbers: ["[PHONE]", "[PHONE]"]'],
    ['phone_number=612345678; Rufnummer 612345678', 'phone_number=[PHONE]; Rufnummer [PHONE]'],
    ['+49·30·1234567, %2B49%2030%201234567', '[PHONE], [PHONE]'],
  ],
  IBANs: [
    ['DE89  3704  0044  0532  0130  00', '[IBAN]'],
    ['DE89.3704.0044.0532.0130.00', '[IBAN]'],
    ['DE89\n3704\n0044\n0532\n0130\n00', '[IBAN]'],
    ['IBANDE89370400440532013000EUR; DE 89 3704 0044 0532 0130 00', 'IBAN[IBAN]EUR; [IBAN]'],
    ['"a\\nDE89370400440532013000\\n"', '"a\\n[IBAN]\\n"'],
  ],
  'card numbers': [
    ['4111  1111  1111  1111', '[CARD]'],
    ['4111\t1111\t1111\t1111', '[CARD]'],
    ['4111\n1111\n1111\n1111\n123', '[CARD]\n123'],
    ['4111/1111/1111/1111 4111_1111_1111_1111', '[CARD] [CARD]'],
    ['4111 - 1111 - 1111 - 1111', '[CARD]'],
    ['4111 1111-1111.1111', '[CARD]'],
    ['4111, 1111, 1111, 1111', '[CARD]'],
    ['3782-8224-6310-005, 378 282 246 310 005 12/27', '[CARD], [CARD] 12/27'],
    ['411111 1111111111', '[CARD]'],
    ['4111&nbsp;1111&nbsp;1111&nbsp;1111', '[CARD]'],
  ],
  'values that a name gives away': [
    ['password: correct horse battery staple', 'password: [SECRET]'],
    ['PASSWORD=correct horse battery staple', 'PASSWORD=[SECRET]'],
    ['password = correct horse; user = bob', 'password = [SECRET]; user = bob'],
    ['Password: correct horse. Then log in.', 'Password: [SECRET]. Then log in.'],
    ['Password: correct horse, then log in', 'Password: [SECRET], then log in'],
    ['(password: correct horse) and', '(password: [SECRET]) and'],
    ['password: correct horse user: bob', 'password: [SECRET] user: bob'],
    ['"password: correct horse", he said', '"password: [SECRET]", he said'],
    ['password: “correct horse” now', 'password: “[SECRET]” now'],
    ['password=correct horse --verbose', 'password=[SECRET] --verbose'],
    ['a\\npassword: correct horse\\nrole: admin', 'a\\npassword: [SECRET]\\nrole: admin'],
    ['password hunter2, password is hunter2', 'password [SECRET] password is [SECRET]'],
    [
      'the password "swordfish", the password is "swordfish"',
      'the password "[SECRET]", the password is "[SECRET]"',
    ],
    ['the password has been changed to hunter2', 'the password has been changed to [SECRET]'],
    ['My password is: correct horse', 'My password is: [SECRET]'],
    ['password - hunter2, password -> hunter2', 'password - [SECRET] password -> [SECRET]'],
    ['password:\nhunter2\nnext', 'password:\n[SECRET]\nnext'],
    ['password:\n  value: hunter2\nuser: bob', 'password:\n  value: [SECRET]\nuser: bob'],
    ['passwords:\n- hunter2\n- correct horse\nend', 'passwords:\n- [SECRET]\n- [SECRET]\nend'],
    ['passwords: hunter2, hunter3', 'passwords: [SECRET]'],
    [
      'mot de passe: hunter2; Passwort: x; pw: x; passwd: x',
      'mot de passe: [SECRET]; Passwort: [SECRET]; pw: [SECRET]; passwd: [SECRET]',
    ],
    ['密码：hunter2', '密码：[SECRET]'],
    ['API keys: x, y', 'API keys: [SECRET]'],
    ['password for the server: hunter2', 'password for the server: [SECRET]'],
    ['password (wifi): hunter2; wifi pass: hunter2', 'password (wifi): [SECRET]; wifi pass: [SECRET]'],
    ['{"password":{"value":"X"},"n":1}', '{"password":[SECRET],"n":1}'],
    ['{"passwords": ["X", "Y ]"], "n": 1}', '{"passwords": [SECRET], "n": 1}'],
    ['{"password": {"value": "X", "cut": [1', '{"password": [SECRET]'],
    ['[{"name":"DB_PASSWORD","value":"x"}]', '[{"name":"DB_PASSWORD","value":"[SECRET]"}]'],
    ['<input name="password" value="x">', '<input name="password" value="[SECRET]">'],
    ['<td>Password</td><td>x</td>', '<td>Password</td><td>[SECRET]</td>'],
    ['&quot;password&quot;:&quot;a b&quot;', '&quot;password&quot;:&quot;[SECRET]&quot;'],
    ['| password | correct horse | x', '| password | [SECRET] | x'],
    ['PIN-Code lautet 1234', 'PIN-Code lautet [SECRET]'],
  ],
  'the words of a list': [
    ['Projekt-Aurora Projekt_Aurora PROJEKT - AURORA', '[WORD] [WORD] [WORD]'],
    ['Projekt\u00adAurora Projekt\u200bAurora Projekt\u2011Aurora', '[WORD] [WORD] [WORD]'],
    ['ProjektAurora projekt.aurora Projekt%20Aurora', '[WORD] [WORD] [WORD]'],
    ['"a\\nfalcon"', '"a\\n[WORD]"'],
  ],
};

describe.each(Object.entries(FOUND))('%s', (_, cases) => {
  it.each(cases)('are replaced in other spellings: %j', async (text, redacted) => {
    expect(await redact(text)).toBe(redacted);
    expect(await redact(redacted)).toBe(redacted);
  });
});

describe('what only looks alike stays', () => {
  it.each([
    'Password:\nUsername:\nbob',
    'pages 200-1200, lines 300-1000, part-555-1234, 555-1234-9',
    '2019-2024, 1920 1080, 100 200 300 400, 10 000 000 people, 612 345 678 items, 1.234.567.890',
    '2024-05-17 10:30:00, 10-12 20-30, 16:9, ISO 9001-2015, Smith (2019) 123-145, ISBN 0735710015',
    '4120\t3312\t1020\t2231\t4111\t1111\t1111\t1111\t4000',
    '#609114, #678615, #440801',
    'id 550e8400-e29b-41d4-a716-446655440000, d4ec6813-8060-4557-9902-157b3ce0eb98',
    'password - at least 8 signs; the password reset page; password manager; token of SHA-256 type; JSON Web Token RS256',
    'tokens: 512, the; inputTokens: result.usage.inputTokens; maxTokens | openai',
    'getSecrets(text: string): Generator; interface Credentials { a: 1 }; pass: 12, fail: 3; pass `a: b`',
    'The secret to success is practice, a cookie policy, passport 12, a mnemonic: Goto',
    '{"key":"@example.com","list":["a", "@b.io"]}, C:\\new\\test\\readme.txt, 100%25, AT&T',
    'Projekt, Aurora; Projekte Aurora',
  ])('%j', async (text) => {
    expect(await redact(text)).toBe(text);
  });
});

describe('what the README says is missed', () => {
  it.each([
    'my password is swordfish, the code is 482913, bob / hunter2',
    'jane at example dot com, jane [at] example.com, j a n e @ e x a m p l e . c o m, jane@localhost',
    'amFuZUBleGFtcGxlLmNvbQ==, DEUTDEFF500, 00:1a:2b:3c:4d:5e, 1980-05-17',
    '6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
    '612345678; 612 345 678; 1234 5678; 98765 43210',
    '4111\n1111\n1111\n1111\n4242\n4242\n4242\n4242',
    'user,password\nbob,hunter2',
    'Falcons, F\u0430lcon',
  ])('is missed, so that the list is true: %j', async (text) => {
    expect(await redact(text)).toBe(text);
  });
});
