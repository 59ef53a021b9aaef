import {
  DomainName,
  EndpointType,
  type IRestApi,
  type RestApi,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ARecord, HostedZone, type IHostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import type { Parameters } from './parameters.ts';

/** A domain of the customer's, without a stage in its URLs; its records too, where the zone was named. */
export class CustomDomain extends Construct {
  /** Without a trailing slash. */
  readonly url: string;
  /** The API's own name for the domain. */
  readonly target: string;
  readonly hostedZone: IHostedZone | undefined;

  constructor(
    scope: Construct,
    id: string,
    api: RestApi,
    parameters: Pick<Parameters, 'domainName' | 'certificateArn' | 'hostedZoneId' | 'hostedZoneName'>,
  ) {
    super(scope, id);
    const { domainName, certificateArn, hostedZoneId, hostedZoneName } = parameters;
    if (domainName === undefined || certificateArn === undefined) {
      throw new Error('a custom domain needs domainName and certificateArn');
    }
    const domain = new DomainName(this, 'Name', {
      domainName,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
      mapping: api as IRestApi,
    });
    this.url = `https://${domainName}`;
    this.target = domain.domainNameAliasDomainName;
    if (hostedZoneId === undefined || hostedZoneName === undefined) {
      this.hostedZone = undefined;
      return;
    }
    this.hostedZone = HostedZone.fromHostedZoneAttributes(this, 'Zone', {
      hostedZoneId,
      zoneName: hostedZoneName,
    });
    new ARecord(this, 'Record', {
      zone: this.hostedZone,
      // A full name, as Route 53 has it.
      recordName: `${domainName}.`,
      target: RecordTarget.fromAlias(new ApiGatewayDomain(domain)),
    });
  }
}
