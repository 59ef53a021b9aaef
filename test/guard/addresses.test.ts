import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressClass, classifyAddress, classifyAnswers } from '../../shared/guard/index.ts';

interface Vector {
  readonly answers: string[];
  readonly verdict: 'allow' | 'refuse' | 'retry';
  readonly addressClass?: AddressClass;
  readonly trusted?: boolean;
}

const file = new URL('../../fixtures/guard/answers.json', import.meta.url);
const { vectors }: { vectors: Vector[] } = JSON.parse(readFileSync(file, 'utf8'));
const trusted = new Set<AddressClass>(['private', 'shared']);

describe('the resolved addresses of a name', () => {
  it.each(vectors.map((vector) => [vector.verdict, JSON.stringify(vector.answers), vector] as const))(
    '%s: %s',
    (_verdict, _answers, vector) => {
      const result = classifyAnswers(vector.answers, vector.trusted ? trusted : undefined);
      const { verdict, addressClass } = vector;
      expect(result).toMatchObject(addressClass === undefined ? { verdict } : { verdict, addressClass });
    },
  );

  it('are refused when there are more than 32 of them', () => {
    const answers = Array.from({ length: 33 }, (_, index) => `8.8.8.${index}`);
    expect(classifyAnswers(answers)).toEqual({ verdict: 'refuse', rule: 'too-many-answers' });
    expect(classifyAnswers(answers.slice(1))).toMatchObject({ verdict: 'allow' });
  });

  it('are refused as a set wherever the bad one stands', () => {
    fc.assert(
      fc.property(fc.nat(7), fc.nat(7), (size, at) => {
        const answers = Array.from({ length: size }, () => '8.8.8.8');
        answers.splice(at, 0, '127.0.0.1');
        expect(classifyAnswers(answers)).toMatchObject({ verdict: 'refuse', addressClass: 'loopback' });
      }),
    );
  });
});

describe('one address', () => {
  // The ranges once more, as arithmetic on numbers instead of a block list.
  const BLOCKED_V4: ReadonlyArray<readonly [string, number]> = [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.0.0.0', 24],
    ['192.0.2.0', 24],
    ['192.31.196.0', 24],
    ['192.52.193.0', 24],
    ['192.88.99.0', 24],
    ['192.168.0.0', 16],
    ['192.175.48.0', 24],
    ['198.18.0.0', 15],
    ['198.51.100.0', 24],
    ['203.0.113.0', 24],
    ['224.0.0.0', 3],
    ['168.63.129.16', 32],
  ];
  const toNumber = (ip: string) => ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const toText = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.');
  const isBlocked = (n: number) =>
    BLOCKED_V4.some(([base, prefix]) => {
      const size = 2 ** (32 - prefix);
      return Math.floor(n / size) === Math.floor(toNumber(base) / size);
    });

  it('of IPv4 is global exactly outside the listed ranges, also at their edges', () => {
    for (const [base, prefix] of BLOCKED_V4) {
      const first = toNumber(base);
      const last = first + 2 ** (32 - prefix) - 1;
      for (const n of [first - 1, first, last, last + 1].filter((n) => n >= 0 && n < 2 ** 32)) {
        expect([toText(n), classifyAddress(toText(n)) === 'global']).toEqual([toText(n), !isBlocked(n)]);
      }
    }
    fc.assert(
      fc.property(fc.nat(2 ** 32 - 1), (n) => {
        expect(classifyAddress(toText(n)) === 'global').toBe(!isBlocked(n));
      }),
      { numRuns: 2000 },
    );
  });

  it('of IPv6 is global only inside 2000::/3 and outside its exceptions', () => {
    const group = fc.oneof(
      fc.nat(0xffff),
      fc.constantFrom(0, 1, 0x2001, 0x2002, 0xdb8, 0x1ff, 0x200, 0x2620, 0x4f, 0x8000, 0x3fff),
    );
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const [a = 0, b = 0, c = 0] = groups;
        const exception =
          (a === 0x2001 && b < 0x200) ||
          (a === 0x2001 && b === 0xdb8) ||
          a === 0x2002 ||
          (a === 0x2620 && b === 0x4f && c === 0x8000) ||
          (a === 0x3fff && b < 0x1000);
        const global = a >= 0x2000 && a <= 0x3fff && !exception;
        const address = groups.map((part) => part.toString(16)).join(':');
        expect([address, classifyAddress(address) === 'global']).toEqual([address, global]);
      }),
      { numRuns: 5000 },
    );
  });
});
