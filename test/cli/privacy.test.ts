import { describe, expect, it } from 'vitest';
import type { AdminParts } from '../../shared/admin/index.ts';
import { type AdminEndpoint, startAdminEndpoint } from './admin-endpoint.ts';

const words = (line: string) => [...line.split(' '), '--data', 'data'];
const operations = ({ requests }: AdminEndpoint) => requests.map(({ body }) => JSON.parse(body));

/** A job that each look finds further on. */
function stepping(): AdminParts['ceilings'] {
  let looks = 0;
  const states = [
    { state: 'waiting', pass: 1, looked: 0 },
    { state: 'running', pass: 1, total: 400, looked: 100, lowered: 3, redacted: 2 },
    { state: 'waiting', pass: 2, total: 400, looked: 0, lowered: 9, redacted: 8 },
  ];
  return {
    start: async () => ({ kind: 'put', table: 'registry', item: { pk: 'job', sk: 'ceiling', v: 1 } }),
    inForceAt: async () => undefined,
    show: async () => states[Math.min(looks++, states.length - 1)],
    count: async () => ({ looked: 0, touched: 0 }),
  };
}

const at = (answer = true) => {
  const asked: string[] = [];
  const confirm = async (question: string) => {
    asked.push(question);
    return answer;
  };
  return { terminal: { confirm }, asked, sleep: async () => {} };
};

describe('a change that lowers a level', () => {
  it('shows a bar with counts until every task was looked at, then the result', async () => {
    await using endpoint = await startAdminEndpoint({ ceilings: stepping() });
    const { code, out, err } = await endpoint.run(words('settings set answerLevel=redacted'), at());
    expect(code).toBe(0);
    expect(err.split('\r').map((line) => line.trim())).toEqual([
      '',
      '[........................] 0/? tasks looked at',
      '[######..................] 100/400 tasks looked at, 3 lowered, 2 redacted',
      '[########################] 400/400 tasks looked at, 9 lowered, 8 redacted',
    ]);
    expect(out).toMatch(/answerLevel\W+redacted\W+set/);
    expect(out).toMatch(/redacted\W+8/);
  });

  it('with --no-wait returns at once', async () => {
    await using endpoint = await startAdminEndpoint({ ceilings: stepping() });
    const { value } = await json(endpoint, 'settings set answerLevel=redacted --no-wait');
    expect(value['ceiling']).toMatchObject({ state: 'waiting', pass: 1 });
    expect(operations(endpoint)).toHaveLength(1);
  });

  it('with --json waits in silence', async () => {
    await using endpoint = await startAdminEndpoint({ ceilings: stepping() });
    const { value } = await json(endpoint, 'settings set answerLevel=redacted', at());
    expect(value['ceiling']).toMatchObject({ pass: 2, lowered: 9 });
  });

  it('with --dry-run adds up what it would touch, and asks for nothing else', async () => {
    await using endpoint = await startAdminEndpoint();
    const { value } = await json(endpoint, 'settings set answerLevel=none --dry-run');
    expect(value).toMatchObject({ dryRun: true, looked: 5, touched: 2 });
    const asked = operations(endpoint);
    expect(asked.map(({ operation }) => operation)).toEqual(['settings.set', 'settings.set']);
    expect(asked.every(({ arguments: { dryRun } }) => dryRun === true)).toBe(true);
    expect(asked[1].arguments.cursor).toMatchObject({ shard: 1 });
  });

  it.each([
    ['provider put - --dry-run', 'id: echo\nkind: echo\nanswerLevel: none\n'],
    ['profile put - --dry-run', 'id: writer\nname: W\ndescription: W.\nanswerLevel: redacted\n'],
  ])('%s counts too', async (line, input) => {
    await using endpoint = await startAdminEndpoint();
    const { value } = await json(endpoint, line, { input });
    expect(value).toMatchObject({ looked: 5, touched: 2 });
  });
});

describe('a purge', () => {
  it('counts first, and without --yes and a person to ask it purges nothing', async () => {
    await using endpoint = await startAdminEndpoint();
    await endpoint.run(words('client add Acme --id acme1'));
    const { code, out } = await endpoint.run([...words('task purge --client acme1'), '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out).error).toEqual({
      code: 'NOT_CONFIRMED',
      message: '3 of 5 tasks would be purged for good; repeat with --yes',
    });
    const purges = operations(endpoint).filter(({ operation }) => operation === 'task.purge');
    expect(purges.every(({ arguments: { dryRun } }) => dryRun)).toBe(true);
  });

  it('asks a person, with the counts', async () => {
    await using endpoint = await startAdminEndpoint();
    const no = at(false);
    expect((await endpoint.run(words('task purge --older-than 30'), no)).code).toBe(1);
    expect(no.asked).toEqual(['Purge 3 of 5 tasks for good?']);
    const yes = await endpoint.run(words('task purge --older-than 30'), at());
    expect(yes.code).toBe(0);
    expect(yes.err).toMatch(/\[#{19}\.{5}\] 4\/5 tasks looked at, 2 purged/);
    expect(yes.out).toMatch(/purged\W+3/);
  });

  it('with --yes goes on from part to part', async () => {
    await using endpoint = await startAdminEndpoint();
    await json(endpoint, 'client add Acme --id acme1');
    const { value } = await json(endpoint, 'task purge --client acme1 --older-than 7 --yes');
    expect(value).toEqual({ looked: 5, purged: 3, dryRun: false });
    const last = operations(endpoint).at(-1);
    expect(last.arguments).toMatchObject({
      client: 'acme1',
      olderThanDays: 7,
      dryRun: false,
      cursor: { shard: 1 },
    });
  });

  it('of one task, with --dry-run, and of none that is named', async () => {
    await using endpoint = await startAdminEndpoint();
    expect((await json(endpoint, 'task purge known --dry-run')).value).toEqual({
      looked: 1,
      purged: 1,
      dryRun: true,
    });
  });

  it.each([
    ['nothing', []],
    ['no age', ['--older-than', '']],
    ['a blank age', ['--older-than', ' ']],
    ['no days', ['--older-than', '0']],
    ['a hexadecimal age', ['--older-than', '0x10']],
    ['an age with an exponent', ['--older-than', '1e1']],
    ['words', ['--older-than', 'abc']],
    ['a part of a day', ['--older-than', '1.5']],
  ])('of %s is nothing that was asked for, whatever a script left empty', async (_, args) => {
    await using endpoint = await startAdminEndpoint();
    const { code, out } = await endpoint.run([...words('task purge'), ...args, '--yes', '--json']);
    expect([code, JSON.parse(out).error.code]).toEqual([1, 'USAGE']);
    expect(operations(endpoint)).toEqual([]);
  });

  it('says on a dry run that it was none', async () => {
    await using endpoint = await startAdminEndpoint();
    const { out } = await endpoint.run(words('task purge known --dry-run'));
    expect(out).toMatch(/would be purged\W+1/);
  });
});

describe('approvals', () => {
  it('are listed, shown, and decided with a reason', async () => {
    await using endpoint = await startAdminEndpoint();
    expect((await json(endpoint, 'approval list')).value).toEqual({
      approvals: [{ task: 'waits', revision: 2 }],
    });
    const line = 'approval approve waits --revision 2 --reason';
    const { code } = await endpoint.run([...line.split(' '), 'looks right', '--data', 'data']);
    expect(code).toBe(0);
    expect(operations(endpoint).at(-1)).toEqual({
      operation: 'approval.approve',
      arguments: { task: 'waits', revision: 2, reason: 'looks right' },
    });
    const bare = await endpoint.run(words('approval reject waits'));
    expect([bare.code, bare.err]).toEqual([1, expect.stringMatching(/--reason/)]);
  });

  it('show a draft with all that is released, and nothing in it that moves the cursor or looks like ours', async () => {
    const approvals: AdminParts['approvals'] = {
      list: async () => [],
      show: async (task) => ({
        task,
        revision: 2,
        artifacts: [
          {
            artifactId: 'a1',
            name: 'ok\nmessage\nall fine',
            description: 'described',
            metadata: { note: 'noted' },
            parts: [{ text: 'all \u001b[31mred\nmessage' }, { data: { a: '\u202e' }, metadata: { b: 2 } }],
          },
          {
            parts: [
              { raw: 'AP8=', filename: 'a.png', mediaType: 'image/png' },
              { raw: Buffer.from('in a file').toString('base64'), mediaType: 'text/plain' },
              { url: 'https://elsewhere.example/x', mediaType: 'text/html' },
            ],
          },
        ],
        message: { parts: [{ text: 'done' }] },
      }),
      approve: async () => 'not-waiting',
      reject: async () => 'not-waiting',
    };
    await using endpoint = await startAdminEndpoint({ approvals });
    const { out } = await endpoint.run(words('approval show t1'));
    // Everything that would be released is there, and only what is ours begins a line.
    expect(out.slice(out.indexOf('artifact 1')).split('\n')).toEqual([
      'artifact 1',
      '  name',
      '  | ok',
      '  | message',
      '  | all fine',
      '  description',
      '  | described',
      '  metadata',
      '  | {',
      '  |   "note": "noted"',
      '  | }',
      '  text',
      '  | all \\u{1b}[31mred',
      '  | message',
      '  data',
      '  | {',
      '  |   "a": "\\u{202e}"',
      '  | }',
      '  metadata',
      '  | {',
      '  |   "b": 2',
      '  | }',
      'artifact 2',
      '  file of 2 bytes, no text; --json prints them (base64)',
      '  filename',
      '  | a.png',
      '  mediaType',
      '  | image/png',
      '  file of 9 bytes',
      '  | in a file',
      '  mediaType',
      '  | text/plain',
      '  file at',
      '  | https://elsewhere.example/x',
      '  mediaType',
      '  | text/html',
      'message',
      '  text',
      '  | done',
      '',
    ]);
  });
});

it('how far a tightening is, is shown', async () => {
  await using endpoint = await startAdminEndpoint();
  expect((await json(endpoint, 'ceiling show')).value).toMatchObject({ ceiling: { state: 'done', pass: 2 } });
});

async function json(endpoint: AdminEndpoint, line: string, change?: Parameters<AdminEndpoint['run']>[1]) {
  const { code, out, err } = await endpoint.run([...words(line), '--json'], change);
  expect([code, err]).toEqual([0, '']);
  return { value: JSON.parse(out) as Record<string, Record<string, unknown>> };
}
