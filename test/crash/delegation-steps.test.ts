import { delegateThroughDeath } from './harness/delegation-suite.ts';

delegateThroughDeath({ turns: 'changes', spoken: 'changes' });
