import * as z from 'zod';
import { auditEntry, type Deed } from '../registry/index.ts';
import type { Action } from '../storage/port.ts';
import {
  type AdminAnswer,
  anId,
  done,
  failed,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';

/**
 * What operators may see and do of waits for remote agents; `shared/delegation` implements it. Answers are plain JSON:
 * ids, states, counts and times; no content, no credential (P10). `audit` is part of the write that does the deed.
 */
export interface DependencyOperations {
  list(
    task: string,
    filter: { readonly agent?: string; readonly open?: boolean },
  ): Promise<readonly object[]>;
  /** Of all tasks, those that have not ended. */
  listOpen(agent?: string): Promise<{ readonly dependencies: readonly object[]; readonly more: boolean }>;
  show(task: string, id: string): Promise<object | undefined>;
  poll(task: string, id: string, audit: Action): Promise<'done' | 'ended' | 'unknown'>;
  cancel(task: string, id: string, audit: Action): Promise<'done' | 'ended' | 'unknown'>;
}

const listing = z.strictObject({
  task: z.exactOptional(z.string().min(1).max(128)),
  agent: z.exactOptional(anId),
  open: z.boolean().default(false),
});
const aDependency = z.strictObject({
  dependency: z
    .string()
    .max(300)
    .regex(/^[^/]{1,128}\/[0-9]{4,8}\.[0-9]{4,8}$/, {
      error: 'must be a dependency as dependency list names it, <task>/<turn>.<number>',
    })
    .transform((name) => {
      const [task, id] = name.split('/') as [string, string];
      return { name, task, id };
    }),
});

export function dependencyOperations(parts: OperationParts): Operations {
  const { dependencies } = parts;

  const operate = async (
    deed: Deed,
    { name, task, id }: z.output<typeof aDependency>['dependency'],
    verb: 'poll' | 'cancel',
    says: string,
  ): Promise<AdminAnswer> => {
    const audit = auditEntry(parts, deed, { kind: 'dependency', id: name });
    switch (await dependencies[verb](task, id, audit)) {
      case 'done':
        return done({ dependency: name, says });
      case 'ended':
        return failed({
          kind: 'refused',
          field: 'dependency',
          message: 'dependency: has ended already; dependency show says how',
        });
      case 'unknown':
        return failed(notFound('dependency', name));
    }
  };

  return {
    'dependency.list': operation(listing, async ({ task, agent, open }) => {
      if (task === undefined) return done(await dependencies.listOpen(agent));
      const filter = { ...(agent === undefined ? {} : { agent }), open };
      return done({ dependencies: await dependencies.list(task, filter), more: false });
    }),

    'dependency.show': operation(aDependency, async ({ dependency }) => {
      const shown = await dependencies.show(dependency.task, dependency.id);
      return shown ? done(shown) : failed(notFound('dependency', dependency.name));
    }),

    'dependency.poll': operation(aDependency, ({ dependency }, deed) =>
      operate(deed, dependency, 'poll', 'the remote agent is asked now'),
    ),

    'dependency.cancel': operation(aDependency, ({ dependency }, deed) =>
      operate(deed, dependency, 'cancel', 'the remote agent is told, and the step ends as canceled'),
    ),
  };
}
