import { describe, expect, test } from 'vitest';
import {
  echoExtensions,
  isSupportedVersion,
  missingExtensions,
  negotiateVersion,
  parseExtensions,
} from '../../shared/protocol/index.ts';

describe('negotiateVersion', () => {
  test.each(['1.0', ' 1.0 ', '1.0.0', '1.0.1', '1.0.99', '\t1.0'])('serves %j', (version) => {
    expect(negotiateVersion(version, undefined)).toEqual({ ok: true, value: '1.0' });
    expect(negotiateVersion(undefined, version).ok).toBe(true);
  });

  test.each([
    undefined,
    '',
    ' ',
    '0.3',
    '0.3.0',
    '1',
    '1.1',
    '1.00',
    '01.0',
    '1.0.',
    '1.0.x',
    '1.0.0.0',
    '1.0-rc1',
    '1.0, 1.0',
    'v1.0',
    '2.0',
    '99.0',
    '１.0',
  ])('refuses %j', (version) => {
    expect(negotiateVersion(version, undefined)).toEqual({
      ok: false,
      error: { kind: 'version-not-supported' },
    });
    expect(negotiateVersion(undefined, version).ok).toBe(false);
  });

  test('looks at the query only where the header is absent', () => {
    expect(negotiateVersion(undefined, '1.0').ok).toBe(true);
    expect(negotiateVersion('', '1.0').ok).toBe(false);
    expect(negotiateVersion('0.3', '1.0').ok).toBe(false);
    expect(negotiateVersion('1.0', '0.3').ok).toBe(true);
  });

  test('judges the version of a peer’s interface alike', () => {
    expect(['1.0', '1.0.3', '0.3', '1.1', ''].map(isSupportedVersion)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('A2A-Extensions', () => {
  test('is read as a comma list of URIs, each once', () => {
    expect(parseExtensions(' urn:a ,https://b.example/x?y=1,, urn:a,')).toEqual([
      'urn:a',
      'https://b.example/x?y=1',
    ]);
    expect(parseExtensions('')).toEqual([]);
    expect(parseExtensions(undefined)).toEqual([]);
  });

  test('says which required ones were not named', () => {
    expect(missingExtensions(['urn:a', 'urn:b'], ['urn:b', 'urn:c'])).toEqual(['urn:a']);
    expect(missingExtensions([], [])).toEqual([]);
  });

  test('echoes those that are supported and were named', () => {
    expect(echoExtensions(['urn:a', 'urn:b'], ['urn:c', 'urn:b', 'urn:a'])).toBe('urn:b, urn:a');
    expect(echoExtensions(['urn:a'], ['urn:c'])).toBeUndefined();
  });
});
