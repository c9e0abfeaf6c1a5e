"""How well a prediction agrees with a measurement in what services are judged by: latency, attainment, throughput."""
import sys

from gangway.drawing.service_agreement import cli

sys.exit(cli())
