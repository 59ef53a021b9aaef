import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyContext, KeyService } from '../../shared/runtime/ports.ts';
import { SealBroken } from '../../shared/sealing/index.ts';
import type { Item, Key, Store } from '../../shared/storage/index.ts';

/** A key service in memory that binds the context, as KMS does. `before` runs ahead of each call and may throw. */
export function keyServiceDouble(): KeyService & {
  readonly calls: string[];
  before: (call: string) => Promise<void> | void;
} {
  const master = randomBytes(32);
  const boundTo = (context: KeyContext) =>
    Buffer.from(JSON.stringify([context.client, context.purpose, context.epoch]));
  const service = {
    calls: [] as string[],
    before: (_call: string): Promise<void> | void => {},
    async generate(context: KeyContext) {
      service.calls.push('generate');
      await service.before('generate');
      const plaintext = new Uint8Array(randomBytes(32));
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', master, nonce).setAAD(boundTo(context));
      const sealed = Buffer.concat([cipher.update(plaintext), cipher.final()]);
      return { plaintext, wrapped: new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), sealed])) };
    },
    async unwrap(wrapped: Uint8Array, context: KeyContext) {
      service.calls.push('unwrap');
      await service.before('unwrap');
      try {
        const decipher = createDecipheriv('aes-256-gcm', master, wrapped.subarray(0, 12));
        decipher.setAAD(boundTo(context)).setAuthTag(wrapped.subarray(12, 28));
        return new Uint8Array(Buffer.concat([decipher.update(wrapped.subarray(28)), decipher.final()]));
      } catch {
        throw new SealBroken();
      }
    },
  };
  return service;
}

/** The two operations a keyring uses; whatever is put is put only where nothing stands. */
export function registryDouble(): Pick<Store, 'get' | 'write'> & {
  readonly items: Map<string, Item & Key>;
  readonly calls: string[];
  before: (call: string) => Promise<void> | void;
} {
  const address = (key: Key) => JSON.stringify([key.pk, key.sk]);
  const registry = {
    items: new Map<string, Item & Key>(),
    calls: [] as string[],
    before: (_call: string): Promise<void> | void => {},
    async get(_table: string, key: Key) {
      registry.calls.push('get');
      await registry.before('get');
      return registry.items.get(address(key));
    },
    async write(action: Parameters<Store['write']>[0]): ReturnType<Store['write']> {
      registry.calls.push('write');
      await registry.before('write');
      if (action.kind !== 'put' || action.when?.length !== 1)
        throw new Error('a conditional put was expected');
      const stood = registry.items.get(address(action.item));
      if (stood !== undefined) return { kind: 'refused', items: [stood], failed: [0] };
      registry.items.set(address(action.item), action.item);
      return { kind: 'done' };
    },
  };
  return registry;
}
