import * as z from 'zod';
import { done, failed, notFound, type OperationParts, type Operations, operation } from './operation.ts';

/**
 * What operators may do with tasks; `shared/runs` implements it. Answers are plain JSON without any content: states,
 * revisions, sizes and times only (P10). Undefined: there is no such task.
 */
export interface TaskOperations {
  show(task: string): Promise<object | undefined>;
  /** Recreates view and journal from the committed state (design §4, projection). */
  rebuild(task: string): Promise<object | undefined>;
  /** Sends and projects what a scan of the committed state still needs (design §4, queue messages). */
  repair(): Promise<object>;
}

const aTask = z.strictObject({ id: z.string().min(1).max(128) });

export function taskOperations({ tasks, editor }: OperationParts): Operations {
  return {
    'task.show': operation(aTask, async ({ id }) => {
      const shown = await tasks.show(id);
      return shown ? done(shown) : failed(notFound('task', id));
    }),
    'task.rebuild': operation(aTask, async ({ id }, deed) => {
      await editor.record(deed, { kind: 'task', id });
      const rebuilt = await tasks.rebuild(id);
      return rebuilt ? done(rebuilt) : failed(notFound('task', id));
    }),
    'task.repair': operation(z.strictObject({}), async (_none, deed) => {
      await editor.record(deed, { kind: 'task', id: '*' });
      return done(await tasks.repair());
    }),
  };
}
