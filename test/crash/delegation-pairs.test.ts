import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ pair: 'changes', pairPolled: 'changes' });
