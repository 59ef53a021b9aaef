import { isIP } from 'node:net';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { checkText, type TextPolicy } from '../../shared/guard/index.ts';

const policy: TextPolicy = { ownHosts: ['gw.example.net'], allowedPorts: [8443], loopback: false };
const SPECIAL = [
  'local',
  'localhost',
  'internal',
  'home.arpa',
  'arpa',
  'lan',
  'corp',
  'test',
  'invalid',
  'example',
  'onion',
];

/** Pieces that parsers disagree about, glued together at random: far more accepted and near-accepted texts than noise. */
const piece = fc.oneof(
  fc.constantFrom(
    'https://',
    'HTTPS://',
    'http://',
    'https:',
    '//',
    '/',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '%',
    '.',
    '-',
    '_',
    '[',
    ']',
  ),
  fc.constantFrom(
    'hooks.example.com',
    'example.org',
    'gw.example.net',
    'GW.Example.Net',
    'localhost',
    'printer.local',
  ),
  fc.constantFrom(
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '2130706433',
    '0177',
    '::1',
    '[::1]',
    '169.254.169.254',
    '[fe80::1%25eth0]',
  ),
  fc.constantFrom(
    ':443',
    ':8443',
    ':22',
    ':0',
    ':00443',
    '%31',
    '%2e',
    '%00',
    '\t',
    '\r\n',
    '\u3002',
    '\uff11',
    '\u00ad',
    '\u00df',
  ),
  fc.constantFrom('com', 'a', '1', '0x1', 'xn--exmple-cua', 'xn--', 'xn--a', ...SPECIAL),
  fc.string({ unit: 'binary-ascii', maxLength: 3 }),
  fc.string({ unit: 'grapheme', maxLength: 2 }),
);
const glued = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => pieces.join(''));
const text = fc.oneof(
  glued,
  glued.map((rest) => `https://${rest}`),
  fc.tuple(fc.domain(), glued).map(([domain, rest]) => `https://${domain}${rest}`),
  fc.webUrl({ validSchemes: ['https'], withFragments: true, withQueryParameters: true }),
);

it('never accepts a text that the parser reads as an address, a foreign port or a name the guard refuses', () => {
  let accepted = 0;
  const property = fc.property(text, (url) => {
    if (checkText(url, policy).verdict === 'refuse') return;
    accepted += 1;
    const parsed = new URL(url);
    const host = parsed.hostname;
    expect(parsed.protocol).toBe('https:');
    expect(parsed.username + parsed.password + parsed.hash).toBe('');
    expect(['', '8443']).toContain(parsed.port);
    expect(isIP(host.replace(/^\[|\]$/g, ''))).toBe(0);
    expect(host).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
    expect(host).not.toMatch(/\.[0-9]+$/);
    expect(host).not.toBe('gw.example.net');
    expect(SPECIAL.filter((name) => host === name || host.endsWith(`.${name}`))).toEqual([]);
    // One reading: the host is in the text as it stands, and what the parser makes of it is accepted as well.
    expect(url.toLowerCase().startsWith(`https://${host}`)).toBe(true);
    expect(checkText(parsed.href, policy)).toMatchObject(
      parsed.href.length > 2048 ? {} : { verdict: 'allow', host },
    );
  });
  fc.assert(property, { numRuns: 20_000 });
  // A generator that never gets a text through would prove nothing.
  expect(accepted).toBeGreaterThan(1000);
});
