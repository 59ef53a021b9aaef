import { execFile } from 'node:child_process';
import dgram from 'node:dgram';
import { lookup, Resolver, resolve4 } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { promisify } from 'node:util';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { takeRefused } from '../loopback-only.ts';

// 192.0.2.0/24 is set aside for documentation: nobody answers there, should one of these leave after all.
const OUTSIDE = '192.0.2.1';

describe('a test', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['fetch', () => fetch(`http://${OUTSIDE}/`)],
    ['fetch by name', () => fetch('https://example.com/')],
    ['undici', () => request(`http://${OUTSIDE}/`)],
    ['a socket', () => once(connect(80, OUTSIDE), 'connect')],
    ['a TLS socket', () => once(connectTls({ host: OUTSIDE, port: 443 }), 'secureConnect')],
    [
      'a look-up of its own',
      () =>
        once(
          connect({
            host: 'name.test',
            port: 80,
            lookup: (_name, _options, callback) => callback(null, [{ address: OUTSIDE, family: 4 }]),
          }),
          'connect',
        ),
    ],
    ['a look-up', () => lookup('example.com')],
    ['a resolver', async () => new Resolver().resolve4('example.com')],
    ['the default resolver', async () => resolve4('example.com')],
    ['a datagram', async () => dgram.createSocket('udp4').send('x', 53, OUTSIDE)],
  ])('reaches nothing but this machine by %s', async (_way, leave) => {
    await expect(leave()).rejects.toThrow();
    expect(takeRefused()).toHaveLength(1);
  });

  it('reaches this machine', async () => {
    const server = createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    for (const host of ['127.0.0.1', 'localhost']) {
      expect(await (await fetch(`http://${host}:${port}/`)).text()).toBe('here');
    }
    server.closeAllConnections();
    server.close();
  });

  it('starts no Node process that reaches anything else', async () => {
    const code = `fetch('http://${OUTSIDE}/').catch((error) => console.log(error.cause.message))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', code]);
    expect(stdout).toBe(`Tests may reach this machine only, not ${OUTSIDE} port 80.\n`);
  });
});
