/** Carries out one operation of an administrator; rejects with `AdminRefused` when it was refused. */
export type Administer = (operation: string, input?: object) => Promise<Record<string, unknown>>;

/** Thrown when an administrator's operation was refused. */
export class AdminRefused extends Error {
  override readonly name = 'AdminRefused';
  readonly code: string;
  constructor(operation: string, code: string, message: string) {
    super(`${operation} was refused (${code}): ${message}`);
    this.code = code;
  }
}

const demo = 'demo';
const echo = 'echo';

/**
 * Makes a gateway that can be tried at once: client `demo`, provider and default profile `echo`, and a provider and
 * profile for each function. What is there already is left as its administrator wants it. Resolves with a token of
 * `demo`: `known`, where that client still stands; without `client` there is none, and the token is empty.
 */
export async function seed(
  administer: Administer,
  functionNames: readonly string[],
  client: { readonly known: string | undefined } | undefined,
): Promise<string> {
  const [clients, providers, profiles] = await Promise.all([
    idsOf(administer, 'client'),
    idsOf(administer, 'provider'),
    idsOf(administer, 'profile'),
  ]);
  const wanted = [
    { id: echo, provider: { kind: 'echo' }, profile: echoProfile },
    ...functionNames.map((name) => ({
      id: name,
      provider: { kind: 'function', functionName: name },
      profile: functionProfile(name),
    })),
  ];
  for (const { id, provider, profile } of wanted) {
    if (!providers.has(id)) await administer('provider.put', { provider: { id, ...provider } });
    if (profiles.has(id)) continue;
    await administer('profile.put', { profile: { id, ...profile, providers: [id], public: true } });
    await administer('profile.publish', { id });
    if (id === echo) await administer('settings.set', { settings: { defaultProfile: echo } });
  }
  if (!client) return '';
  if (clients.has(demo)) return client.known ?? (await rotate(administer));
  return tokenOf(await administer('client.add', { id: demo, name: 'Demo', profiles: ['*'] }));
}

const echoProfile = {
  name: 'Echo',
  description: 'Repeats what it is told.',
  version: '1.0.0',
  tags: ['demo'],
  examples: ['Hello!'],
  inputModes: ['text/plain', 'application/json', '*/*'],
  outputModes: ['text/plain', 'application/json', '*/*'],
};

function functionProfile(name: string) {
  return { name, description: `Runs the function ${name}.`, version: '1.0.0', tags: ['function'] };
}

/** The host stopped after it had added the client and before it had written the token down. */
async function rotate(administer: Administer): Promise<string> {
  const rotateOnce = () => administer('client.rotate', { id: demo });
  const rotated = await rotateOnce().catch(async (error: unknown) => {
    if (!(error instanceof AdminRefused)) throw error;
    await administer('client.rotate', { id: demo, dropOld: true });
    return rotateOnce();
  });
  return tokenOf(rotated);
}

async function idsOf(
  administer: Administer,
  subject: 'client' | 'provider' | 'profile',
): Promise<Set<string>> {
  const { [`${subject}s`]: records } = await administer(`${subject}.list`);
  return new Set((records as readonly { readonly id: string }[]).map(({ id }) => id));
}

function tokenOf({ token }: Record<string, unknown>): string {
  if (typeof token !== 'string') throw new Error('A client was added and no token came back.');
  return token;
}
