/**
 * Tells the receivers of a job's webhooks what happens to it: one pump for each, beside the job's own loop, so
 * that a dead receiver holds up neither the job nor the other receivers.
 */

import { condition, isCancellation, log, ParentClosePolicy, startChild } from '@temporalio/workflow';
import type { DeliverEventsInput, Ownership } from '../../contract/activities.js';
import { LAST_EVENTS_WORKFLOW } from '../../contract/messages.js';
import type { NotifySpec } from '../../contract/notifications.js';
import type { JobEvent } from '../../contract/timeline.js';
import { deliverEvents } from './activities.js';
import type { JobState } from './state.js';

export interface Notifier {
  /** Starts and ends pumps as the settings want it. Call it whenever they may have changed. */
  adjust(): void;
  /** Hands over what is undelivered at the end of the job, to be delivered without it. */
  handOver(): Promise<void>;
}

export function createNotifier(state: JobState, owner: Ownership): Notifier {
  const pumping = new Set<string>();

  async function pump(url: string): Promise<void> {
    for (;;) {
      await condition(() => targetOf(url) === undefined || news(url).length > 0);
      const target = targetOf(url);
      if (target === undefined) return;
      const events = news(url);
      const last = events.at(-1)?.seq ?? 0;
      try {
        const { deliveredThrough, gone } = await deliverEvents({ owner, target, events });
        state.deliveredThrough[url] = gone ? Number.MAX_SAFE_INTEGER : Math.max(deliveredThrough, last);
      } catch (error) {
        if (isCancellation(error)) return;
        // The query of a URL may hold a token.
        log.warn('gave up on a receiver of events', { url: url.split('?')[0], events: events.length });
        state.deliveredThrough[url] = last;
      }
    }
  }

  function targetOf(url: string): NotifySpec | undefined {
    return state.settings.notify.find((target) => target.url === url);
  }

  function news(url: string): readonly JobEvent[] {
    const target = targetOf(url);
    const through = state.deliveredThrough[url] ?? 0;
    return state.timeline.events.filter(
      ({ seq, event }) => seq > through && (target?.events == null || target.events.includes(event)),
    );
  }

  return {
    adjust() {
      for (const { url } of state.settings.notify) {
        if (pumping.has(url)) continue;
        pumping.add(url);
        pump(url).then(
          () => pumping.delete(url),
          () => pumping.delete(url),
        );
      }
    },
    async handOver() {
      const left: DeliverEventsInput[] = state.settings.notify
        .map((target) => ({ owner, target, events: news(target.url) }))
        .filter(({ events }) => events.length > 0);
      if (left.length === 0) return;
      await startChild(LAST_EVENTS_WORKFLOW, {
        args: [left],
        workflowId: `${owner.jobId}/events-${owner.runChainId}`,
        parentClosePolicy: ParentClosePolicy.ABANDON,
      });
    },
  };
}

/** The workflow that delivers what a job's end left. */
export async function deliverLastEvents(left: readonly DeliverEventsInput[]): Promise<void> {
  await Promise.allSettled(left.map((each) => deliverEvents(each)));
}
