"""Names of Kafka's internal topics."""

OFFSETS_TOPIC = "__consumer_offsets"
TXN_LOG_TOPIC = "__transaction_state"
SHARE_GROUP_TOPIC = "__share_group_state"
METADATA_TOPIC = "__cluster_metadata"
# Coordinators and controllers write them, in shapes that no client writes.
COORDINATOR_TOPICS = (OFFSETS_TOPIC, TXN_LOG_TOPIC, SHARE_GROUP_TOPIC, METADATA_TOPIC)
# Their coordinators stamp every record with their own clock.
STAMPED_BY_COORDINATOR = (OFFSETS_TOPIC, TXN_LOG_TOPIC, SHARE_GROUP_TOPIC)
# Always compacted.
CLEANED_TOPICS = (OFFSETS_TOPIC, TXN_LOG_TOPIC, SHARE_GROUP_TOPIC)
