import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dnsResolver } from '../../shared/guard/index.ts';

const A = 1;
const AAAA = 28;
const NXDOMAIN = 3;
const SERVFAIL = 2;

/** What the name server answers for one type: raw addresses, an error code, or silence. */
type Zone = Record<string, Partial<Record<number, number[][] | number | 'silence'>>>;

let server: Socket;
let address: string;
let zone: Zone;
let questions: string[];

beforeEach(async () => {
  zone = {};
  questions = [];
  server = createSocket('udp4');
  server.on('message', (query, peer) => {
    const answer = respond(query);
    if (answer !== undefined) server.send(answer, peer.port, peer.address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  address = `127.0.0.1:${server.address().port}`;
});

afterEach(() => server.close());

describe('the resolver', () => {
  it('returns the answers of both families', async () => {
    const v6 = [0x26, 0x06, 0x47, 0, 0x47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x11];
    zone['hooks.example.com'] = {
      [A]: [
        [8, 8, 8, 8],
        [8, 8, 4, 4],
      ],
      [AAAA]: [v6],
    };
    const resolution = await dnsResolver([address]).resolve('hooks.example.com');
    expect(resolution).toEqual({
      kind: 'answers',
      addresses: ['8.8.8.8', '8.8.4.4', '2606:4700:4700::1111'],
    });
    expect(questions.toSorted()).toEqual(['hooks.example.com 1', 'hooks.example.com 28']);
  });

  it('is content with one family', async () => {
    zone['hooks.example.com'] = { [A]: [[8, 8, 8, 8]], [AAAA]: [] };
    const resolution = await dnsResolver([address]).resolve('hooks.example.com');
    expect(resolution).toEqual({ kind: 'answers', addresses: ['8.8.8.8'] });
  });

  it.each([
    ['not-found', NXDOMAIN],
    ['server-failure', SERVFAIL],
    ['empty', []],
  ] as const)('calls it %s, not a refusal', async (reason, answer) => {
    const given = typeof answer === 'number' ? answer : [];
    zone['hooks.example.com'] = { [A]: given, [AAAA]: given };
    const resolution = await dnsResolver([address]).resolve('hooks.example.com');
    expect(resolution).toEqual({ kind: 'dns-failure', reason });
  });

  it('asks twice, two seconds each, and then calls it a timeout', async () => {
    zone['hooks.example.com'] = { [A]: 'silence', [AAAA]: 'silence' };
    const started = performance.now();
    const resolution = await dnsResolver([address]).resolve('hooks.example.com');
    expect(resolution).toEqual({ kind: 'dns-failure', reason: 'timeout' });
    expect(questions.filter((question) => question.endsWith(` ${A}`))).toHaveLength(2);
    expect(performance.now() - started).toBeGreaterThan(3000);
    expect(performance.now() - started).toBeLessThan(6000);
  });

  it('stops when its caller gives up', async () => {
    zone['hooks.example.com'] = { [A]: 'silence', [AAAA]: 'silence' };
    const caller = new AbortController();
    const resolution = dnsResolver([address]).resolve('hooks.example.com', caller.signal);
    await expect.poll(() => questions.length).toBeGreaterThan(0);
    const started = performance.now();
    caller.abort();
    expect(await resolution).toEqual({ kind: 'dns-failure', reason: 'timeout' });
    expect(performance.now() - started).toBeLessThan(1000);
  });

  it('reads no hosts file', async () => {
    zone['localhost'] = { [A]: NXDOMAIN, [AAAA]: NXDOMAIN };
    const resolution = await dnsResolver([address]).resolve('hosts-file-only');
    expect(resolution).toMatchObject({ kind: 'dns-failure' });
  });
});

/** One question, one section of answers: as much of RFC 1035 as the resolver needs. */
function respond(query: Buffer): Buffer | undefined {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length !== 0; length = query.readUInt8(at)) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  questions.push(`${name} ${type}`);
  const answer = zone[name]?.[type] ?? NXDOMAIN;
  if (answer === 'silence') return undefined;
  const records = typeof answer === 'number' ? [] : answer;
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (typeof answer === 'number' ? answer : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  const question = query.subarray(12, at + 5);
  return Buffer.concat([header, question, ...records.map((data) => record(type, data))]);
}

function record(type: number, data: number[]): Buffer {
  const fixed = Buffer.from([0xc0, 0x0c, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([fixed, Buffer.from(data)]);
}
