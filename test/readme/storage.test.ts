import { describe, expect, it } from 'vitest';
import { CONTRACT_VERSION } from '../../shared/providers/function-contract.ts';
import { PUSH_FORMAT } from '../../shared/push/formats.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Key } from '../../shared/storage/port.ts';
import { FORMAT } from '../../shared/tasks/formats.ts';
import { namesIn, tableOf } from './document.ts';

/** What the README's examples stand for, by the names of the parameters. */
const noon = Date.UTC(2026, 0, 31, 12);
const examples: Readonly<Record<string, string | number>> = {
  task: 't1',
  client: 'acme',
  context: 'c1',
  profile: 'parrot',
  provider: 'echo',
  config: 'w1',
  agent: 'clerk',
  dependency: 'd1',
  registration: 'g1',
  result: 'r1',
  copy: 'a',
  name: 'draft',
  messageId: 'm-1',
  revision: 2,
  number: 1,
  slice: 0,
  id: 'x1',
  stream: 'x1',
  ms: noon,
  statusMs: noon,
  minute: noon,
  purpose: 'content',
  epoch: '202601',
  state: 'paused',
};

type Make = (...values: readonly (string | number)[]) => Key | string;

/** Prefixes are the beginnings of keys that stand there anyway, and the shards a list of one shape. */
const shapes = Object.entries(keys).filter(
  ([name, make]) => typeof make === 'function' && !name.endsWith('Prefix') && name !== 'dueShards',
) as [string, Make][];

function exampleOf(name: string, make: Make): Key | string {
  const list = /^(?:\(([^)]*)\)|(\w+))/.exec(make.toString().replace(/\s+/g, ' '));
  const parameters = (list?.[1] ?? list?.[2] ?? '').split(',').map((parameter) => parameter.trim());
  const values = parameters
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const value = examples[parameter];
      if (value === undefined) throw new Error(`say in this test what a ${parameter} of keys.${name} is`);
      return value;
    });
  return make(...values);
}

const made = shapes.map(([name, make]) => [name, exampleOf(name, make)] as const);

describe('the README on storage', () => {
  it('shows every key of every table as keys.ts builds it', () => {
    const written = tableOf('key', 'table').map(([key, , pk, sk]) => [
      namesIn(key)[0],
      { pk: namesIn(pk)[0], sk: namesIn(sk)[0] },
    ]);
    const built = made.filter(([, key]) => typeof key !== 'string');
    expect(Object.fromEntries(written)).toEqual(Object.fromEntries(built));
  });

  it('shows every key of every index', () => {
    const written = tableOf('key', 'index').map(([key, , example]) => [namesIn(key)[0], namesIn(example)[0]]);
    const built = made.filter(([, key]) => typeof key === 'string');
    expect(Object.fromEntries(written)).toEqual(Object.fromEntries(built));
  });

  it('states the versions of the stored formats', () => {
    const versions = tableOf('format', 'version').map(([format = '', version]) => [
      format.split(':')[0],
      Number(version),
    ]);
    expect(Object.fromEntries(versions)).toMatchObject({
      tasks: FORMAT,
      outbox: PUSH_FORMAT,
      'function contract': CONTRACT_VERSION,
    });
  });
});
