import { describe, expect, it, vi } from 'vitest';
import { schedule } from '../../infra/local/schedule.ts';

describe('the schedule', () => {
  it('calls the function with the event of a scheduled rule, never two at once, and ends with the last call', async () => {
    const events: unknown[] = [];
    const onError = vi.fn();
    let finish = () => {};
    const handler = (event: unknown) => {
      events.push(event);
      if (events.length === 1) throw new Error('broken');
      return new Promise<void>((resolve) => (finish = resolve));
    };
    const poller = schedule({ name: 'sweeper', handler, timeoutSeconds: 60 }, 5, onError);
    await vi.waitFor(() => expect(poller.running()).toBe(1));
    await vi.waitFor(() => expect(events).toHaveLength(2));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(events).toHaveLength(2);
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      'sweeper',
      expect.objectContaining({ message: 'broken' }),
    );
    expect(events[0]).toMatchObject({
      'detail-type': 'Scheduled Event',
      source: 'aws.events',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      resources: ['arn:aws:events:us-east-1:000000000000:rule/sweeper'],
      detail: {},
    });
    const stopping = poller.stop();
    finish();
    await stopping;
    expect(poller.running()).toBe(0);
  });
});
