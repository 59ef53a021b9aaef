import type { TaskPushNotificationConfig } from '../protocol/index.ts';
import type { Sealer } from '../sealing/index.ts';
import { keys } from '../storage/keys.ts';
import type { Config, ConfigSecret } from './formats.ts';

/** Seals what a client gave for a config, under a salt of the config's own (design §4, P10). */
export async function sealSecret(
  sealer: Sealer,
  place: { readonly client: string; readonly task: string; readonly id: string },
  secret: ConfigSecret,
): Promise<Pick<Config, 'epoch' | 'salt' | 'sealed'>> {
  const own = await sealer.begin({ client: place.client, task: place.id, purpose: 'push' });
  const slices = await own.seal(binding(place.task, place.id), secret);
  // Bounded far below a slice by the bounds on its fields.
  return { epoch: own.owner.epoch, salt: own.owner.salt, sealed: slices[0]! };
}

export async function openSecret(sealer: Sealer, config: Config): Promise<ConfigSecret> {
  const own = sealer.forTask({
    client: config.client,
    task: config.id,
    purpose: 'push',
    epoch: config.epoch,
    salt: config.salt,
  });
  return (await own.open(binding(config.task, config.id), [config.sealed])) as ConfigSecret;
}

export function secretOf(config: TaskPushNotificationConfig, name: string): ConfigSecret {
  return {
    name,
    url: config.url,
    ...(config.token ? { token: config.token } : {}),
    ...(config.authentication ? { scheme: config.authentication.scheme } : {}),
    ...(config.authentication?.credentials ? { credentials: config.authentication.credentials } : {}),
  };
}

/** As A2A shows it; the encoder leaves the credentials out. */
export function shownConfig(task: string, secret: ConfigSecret): TaskPushNotificationConfig {
  return {
    id: secret.name,
    taskId: task,
    url: secret.url,
    ...(secret.token ? { token: secret.token } : {}),
    ...(secret.scheme
      ? {
          authentication: {
            scheme: secret.scheme,
            ...(secret.credentials ? { credentials: secret.credentials } : {}),
          },
        }
      : {}),
  };
}

function binding(task: string, id: string) {
  return { table: 'outbox', key: keys.pushConfig(task, id), attribute: 'sealed' } as const;
}
