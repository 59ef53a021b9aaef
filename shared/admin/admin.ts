import { createRegistryEditor } from '../registry/index.ts';
import { agentOperations } from './agents.ts';
import { approvalOperations } from './approvals.ts';
import { auditOperations } from './audit.ts';
import { ceilingOperations } from './ceilings.ts';
import { clientOperations } from './clients.ts';
import { dependencyOperations } from './dependencies.ts';
import {
  type AdminAnswer,
  type AdminParts,
  failed,
  type Operation,
  type OperationParts,
} from './operation.ts';
import { profileOperations } from './profiles.ts';
import { providerOperations } from './providers.ts';
import { purgeOperations } from './purges.ts';
import { pushOperations } from './push.ts';
import { runOperations } from './runs.ts';
import { settingsOperations } from './settings.ts';
import { taskOperations } from './tasks.ts';

/**
 * What administrators can do (design §2, §9), behind whatever brings their commands. The caller has authenticated
 * `actor`, which stands in the audit entry of every change.
 */
export interface Admin {
  readonly operations: readonly string[];
  /**
   * Resolves with a failure for everything that the administrator can mend or repeat. Rejects only for faults of the
   * installation, a stored record that cannot be read say; their messages hold no secret.
   */
  execute(operation: string, input: unknown, actor: string): Promise<AdminAnswer>;
}

export function createAdmin(parts: AdminParts): Admin {
  const own: OperationParts = { ...parts, editor: createRegistryEditor(parts) };
  const operations = new Map<string, Operation>(
    Object.entries({
      ...agentOperations(own),
      ...approvalOperations(own),
      ...auditOperations(own),
      ...ceilingOperations(own),
      ...clientOperations(own),
      ...dependencyOperations(own),
      ...profileOperations(own),
      ...providerOperations(own),
      ...purgeOperations(own),
      ...pushOperations(own),
      ...runOperations(own),
      ...settingsOperations(own),
      ...taskOperations(own),
    }),
  );
  const known = [...operations.keys()].sort();
  return {
    operations: known,
    async execute(name, input, actor) {
      const run = operations.get(name);
      if (!run) return failed({ kind: 'unknown-operation', known });
      if (!parts.clientRole && /^(agent|dependency)\./.test(name))
        return failed({ kind: 'refused', message: 'the client role is switched off in this installation' });
      try {
        return await run(input, { actor, operation: name });
      } catch (error) {
        if (isUnanswered(error)) return failed({ kind: 'outcome-unknown' });
        throw error;
      }
    },
  };
}

function isUnanswered(error: unknown): boolean {
  const tag = typeof error === 'object' && error !== null && 'tag' in error ? error.tag : undefined;
  return tag === 'StoreUnavailable' || tag === 'KeyUnavailable' || tag === 'RedactionUnavailable';
}
