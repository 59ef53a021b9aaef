import { beforeEach, describe, expect, it } from 'vitest';
import { ADA, createInstallation, type Installation } from './installation.ts';

let gateway: Installation;
beforeEach(() => {
  gateway = createInstallation();
});

describe('what waits for remote agents, for an operator', () => {
  it('is listed over all tasks, or of one task with what ended', async () => {
    expect(await gateway.run('dependency.list')).toEqual({
      dependencies: [{ dependency: 't1/0001.0000', agent: 'any' }],
      more: false,
    });
    expect(await gateway.run('dependency.list', { agent: 'far' })).toMatchObject({
      dependencies: [{ agent: 'far' }],
    });
    expect(await gateway.run('dependency.list', { task: 't2', agent: 'far', open: true })).toMatchObject({
      dependencies: [{ dependency: 't2/0001.0000', agent: 'far', open: true }],
      more: false,
    });
  });

  it('is polled and canceled with an audit entry that names who did it to what', async () => {
    await gateway.run('dependency.poll', { dependency: 't1/0001.0000' });
    await gateway.run('dependency.cancel', { dependency: 't1/0001.0000' });
    expect(gateway.audits()).toMatchObject([
      { actor: ADA, operation: 'dependency.poll', kind: 'dependency', id: 't1/0001.0000' },
      { actor: ADA, operation: 'dependency.cancel', kind: 'dependency', id: 't1/0001.0000' },
    ]);
  });

  it.each([
    ['dependency.show', 't1/0002.0000', 'NOT_FOUND', 'no dependency "t1/0002.0000"'],
    ['dependency.poll', 't1/0002.0000', 'NOT_FOUND', 'no dependency "t1/0002.0000"'],
    ['dependency.poll', 't1/0001.0001', 'REFUSED', 'ended already'],
    ['dependency.cancel', 't1/0001.0001', 'REFUSED', 'ended already'],
    ['dependency.cancel', 't1', 'INVALID', '<task>/<turn>.<number>'],
    ['dependency.show', 't1/x/0001.0000', 'INVALID', '<task>/<turn>.<number>'],
    ['dependency.show', 't1/1.0', 'INVALID', '<task>/<turn>.<number>'],
  ])('%s %s is refused as %s and leaves nothing', async (operation, dependency, code, says) => {
    const { error } = await gateway.run(operation, { dependency });
    expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
    expect(gateway.audits()).toEqual([]);
  });
});
