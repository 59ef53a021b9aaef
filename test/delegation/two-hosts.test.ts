import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../../infra/cli/program.ts';
import { type Host, type HostOptions, startHost } from '../../infra/local/host.ts';
import { recordingMetrics } from '../../shared/telemetry/index.ts';
import { asksForAColour, type Folder, makeFolder } from '../e2e/function-provider.ts';
import { call, message, textOf } from '../local/rpc.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

/** Answers a second later than it was asked, unless it was told never to. */
const answersLate = `
  const text = run.message.parts[0].text;
  await new Promise((resolve) => setTimeout(resolve, text === 'never' ? 60_000 : 1_000));
  return { artifacts: [{ name: 'late', text }] };`;
/** Hands its text to two agents at once and joins what they bring. */
const asksTwo = `
  if (run.delegation)
    return { artifacts: [{ text: run.delegation.outcomes.map((o) => o.artifacts[0].parts[0].text).join('+') }] };
  const agents = run.agents.map(({ id }) => id).sort();
  return { delegate: agents.map((agent) => ({ agent, message: agent + ':' + run.message.parts[0].text })) };`;

const errors: unknown[] = [];
const metrics = recordingMetrics();
let folder: Folder;
/** The near gateway delegates, the far one does the work. */
let near: Host;
let far: Host;

const start = (options: HostOptions) =>
  startHost({
    allowLoopback: true,
    graceMs: 1_000,
    variables: {},
    onError: (name, error) => errors.push([name, error]),
    ...options,
  });

beforeAll(async () => {
  folder = makeFolder();
  const modules = {
    late: folder.handler('late', answersLate),
    colour: folder.handler('colour', asksForAColour),
  };
  [near, far] = await Promise.all([
    start({
      sweepMs: 1_000,
      functionModules: { two: folder.handler('two', asksTwo) },
      seams: { metrics },
    }),
    start({ functionModules: modules }),
  ]);
  for (const push of ['embedded', 'separate', 'off'])
    await addAgent(`late-${push}`, 'late', `--push ${push}`);
  await addAgent('colour', 'colour', '--push embedded');
  await addAgent('alone', 'late', '--push embedded');
  for (const id of ['late-embedded', 'late-separate', 'late-off', 'colour']) {
    await admin('provider put -', { input: `id: ${id}\nkind: remote\nagent: ${id}\n` });
    await addProfile(id);
  }
  const agents = 'agents: [late-embedded, late-separate]';
  await admin('provider put -', { input: `id: two\nkind: function\nfunctionName: two\n${agents}\n` });
}, 60_000);
afterAll(async () => {
  await Promise.all([near?.stop(), far?.stop()]);
  folder[Symbol.dispose]();
});

describe('a gateway that hands tasks on to another', () => {
  it.each(['embedded', 'separate'])(
    'is called back with push %s and completes with the other one’s artifact, once',
    async (push) => {
      const before = metrics.measurements.length;
      const { body } = await call(near, 'SendMessage', message(`by ${push}`, `late-${push}`));
      expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
      expect(textOf(body.result?.task)).toBe(`by ${push}`);
      // What ended it was asked because of a signal, and not because a poll was due.
      const measured = metrics.measurements.slice(before).map(({ name }) => name);
      const asked = measured.lastIndexOf('RemoteAnswered', measured.indexOf('DependencyEnded'));
      expect(measured.slice(asked)).toContain('ReconcileLag');
      expect(measured).toContain('CallbackAccepted');
      const [dependency] = await dependenciesOf(body.result?.task?.id);
      expect(dependency).toMatchObject({ agent: `late-${push}`, state: 'ended', outcome: 'completed' });
      const shown = await admin(`dependency show ${String(dependency?.['dependency'])}`);
      expect(shown).toMatchObject({ registered: true, registrationState: 'ended' });
      expect(shown['lastSignalAt']).toBeDefined();
      expect(await farTasks(`by ${push}`)).toEqual(['TASK_STATE_COMPLETED']);
    },
  );

  it('finds out by polling what nobody calls back', async () => {
    const { body } = await call(near, 'SendMessage', message('by poll', 'late-off'));
    expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(body.result?.task)).toBe('by poll');
    const [dependency] = await dependenciesOf(body.result?.task?.id);
    const shown = await admin(`dependency show ${String(dependency?.['dependency'])}`);
    expect(shown).toMatchObject({ push: 'off', registered: false, outcome: 'completed' });
    expect(shown).not.toHaveProperty('registration');
    expect(await farTasks('by poll')).toEqual(['TASK_STATE_COMPLETED']);
  });

  it('lets a function ask two agents at once and go on when both have answered', async () => {
    const { body } = await call(near, 'SendMessage', message('go', 'two'));
    expect(body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(body.result?.task)).toBe('late-embedded:go+late-separate:go');
  });

  it('passes on what the other one asks and what its client replies', async () => {
    const asked = await call(near, 'SendMessage', message('a car', 'colour'));
    const task = asked.body.result?.task;
    expect(task?.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: { parts: [{ text: 'Which colour?' }] },
    });
    const { message: reply } = message('red');
    const answered = await call(near, 'SendMessage', { message: { ...reply, taskId: task?.id } });
    expect(answered.body.result?.task?.status.state).toBe('TASK_STATE_COMPLETED');
    expect(textOf(answered.body.result?.task)).toBe('a car, red');
  });

  it('cancels there what its client cancels here', async () => {
    const sent = await call(near, 'SendMessage', {
      ...message('never', 'late-embedded'),
      configuration: { returnImmediately: true },
    });
    const id = sent.body.result?.task?.id;
    await vi.waitFor(async () => expect(await farTasks('never')).toHaveLength(1), WAIT);
    await call(near, 'CancelTask', { id });
    await vi.waitFor(async () => expect(await farTasks('never')).toEqual(['TASK_STATE_CANCELED']), WAIT);
    expect(await dependenciesOf(id)).toMatchObject([{ state: 'ended', outcome: 'canceled' }]);
  });
});

describe('an administrator', () => {
  it('runs an agent without any profile, and sees the result that nobody else sees', async () => {
    const run = await admin('run start alone --message hello --wait');
    expect(run).toMatchObject({
      profile: 'agent:alone',
      state: 'TASK_STATE_COMPLETED',
      task: { artifacts: [{ name: 'late', parts: [{ text: 'hello' }] }] },
      dependencies: [{ agent: 'alone', outcome: 'completed' }],
    });
    const foreign = await call(near, 'GetTask', { id: run['id'] });
    expect(foreign.body.error?.code).toBe(-32001);
    const named = await call(near, 'SendMessage', message('hello', 'agent:alone'));
    expect(named.body.error?.code).toBe(-32602);
  });

  it('answers what an agent asks', async () => {
    const asked = await admin('run start agent:colour --message bike --wait');
    expect(asked).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      task: { status: { message: { parts: [{ text: 'Which colour?' }] } } },
    });
    const id = String(asked['id']);
    await admin(`run reply ${id} --message blue`);
    await vi.waitFor(async () => {
      expect(await admin(`run show ${id}`)).toMatchObject({
        state: 'TASK_STATE_COMPLETED',
        task: { artifacts: [{ parts: [{ text: 'bike, blue' }] }] },
      });
    }, WAIT);
  });

  it('cancels a run, and the other gateway its task', async () => {
    const run = await admin('run start agent:late-off --message never');
    const id = String(run['id']);
    await vi.waitFor(async () => expect(await dependenciesOf(id)).toMatchObject([{ state: 'sent' }]), WAIT);
    await admin(`run cancel ${id}`);
    await vi.waitFor(
      async () => expect(await dependenciesOf(id)).toMatchObject([{ outcome: 'canceled' }]),
      WAIT,
    );
    expect(await admin(`run show ${id}`)).toMatchObject({ state: 'TASK_STATE_CANCELED' });
    expect(new Set(await farTasks('never'))).toEqual(new Set(['TASK_STATE_CANCELED']));
  });

  it('ends one step as canceled: the other gateway is told, and the task fails with words', async () => {
    const { body } = await call(near, 'SendMessage', {
      ...message('never', 'late-off'),
      configuration: { returnImmediately: true },
    });
    const id = String(body.result?.task?.id);
    await vi.waitFor(async () => expect(await dependenciesOf(id)).toMatchObject([{ state: 'sent' }]), WAIT);
    const open = await admin('dependency list --agent late-off');
    expect(open).toMatchObject({ dependencies: [{ dependency: `${id}/0001.0000`, agent: 'late-off' }] });
    await admin(`dependency poll ${id}/0001.0000`);
    await vi.waitFor(
      async () => expect(Number((await dependenciesOf(id))[0]?.['polls'])).toBeGreaterThan(1),
      WAIT,
    );
    await admin(`dependency cancel ${id}/0001.0000`);
    await vi.waitFor(async () => {
      const { body: now } = await call(near, 'GetTask', { id });
      expect(now.result?.status).toMatchObject({ state: 'TASK_STATE_FAILED', message: expect.anything() });
    }, WAIT);
    expect(new Set(await farTasks('never'))).toEqual(new Set(['TASK_STATE_CANCELED']));
    expect((await admin('dependency list'))['dependencies']).toEqual([]);
  });

  it('is told what is wrong with an agent, and what was changed of it', async () => {
    expect(await admin('agent test late-embedded')).toMatchObject({ ok: true });
    await admin('agent rotate late-off --credential-env TOKEN', { TOKEN: 'sp_demo_wrong' });
    const { code, value } = await tryAdmin('agent test late-off');
    expect(code).toBe(1);
    expect(value['checks']).toContainEqual(expect.objectContaining({ check: 'call', outcome: 'failed' }));
    expect(JSON.stringify(value)).toContain('401');
    await admin('agent rotate late-off --credential-env TOKEN', { TOKEN: far.token });
    expect(await admin('agent refresh late-off')).toMatchObject({ card: 'unchanged', changed: [] });
    expect(JSON.stringify(await admin('agent list'))).not.toContain(far.token);
  });
});

it('nothing failed that nobody saw', () => expect(errors).toEqual([]));

const WAIT = { timeout: 20_000, interval: 200 };

async function addAgent(id: string, tenant: string, more: string) {
  const card = `${far.url}/agents/${tenant}/.well-known/agent-card.json`;
  await admin(`agent add ${id} --card ${card} ${more} --credential-env TOKEN`, { TOKEN: far.token });
}

async function addProfile(id: string) {
  const profile = { id, name: id, description: 'Hands it on.', providers: [id] };
  await admin('profile put -', { input: JSON.stringify(profile) });
  await admin(`profile publish ${id}`);
}

async function dependenciesOf(task: string | undefined) {
  const { dependencies } = await admin(`dependency list --task ${task}`);
  return dependencies as readonly Readonly<Record<string, unknown>>[];
}

/** States of the far gateway's tasks whose first message is this. */
async function farTasks(text: string): Promise<string[]> {
  const { body } = await call(far, 'ListTasks', { pageSize: 100, historyLength: 10 });
  const { tasks } = body.result as unknown as {
    tasks: { status: { state: string }; history: { parts: { text: string }[] }[] }[];
  };
  return tasks.filter(({ history }) => history[0]?.parts[0]?.text === text).map(({ status }) => status.state);
}

/** What an administrator of the near gateway types; the result as JSON. */
async function admin(line: string, environment: Readonly<Record<string, string>> = {}) {
  const { code, value } = await tryAdmin(line, environment);
  expect([line, code, code === 0 ? {} : value]).toEqual([line, 0, {}]);
  return value;
}

async function tryAdmin(line: string, { input = '', ...environment }: Readonly<Record<string, string>> = {}) {
  let out = '';
  const code = await runCommandLine([...line.split(' '), '--url', near.url, '--json'], {
    write: (text) => {
      out += text;
    },
    writeError: () => {},
    readInput: async () => input,
    environment: { SEALPOST_ADMIN_TOKEN: near.adminToken, ...environment },
    folder: folder.path,
  });
  return { code, value: JSON.parse(out) as Record<string, unknown> };
}
