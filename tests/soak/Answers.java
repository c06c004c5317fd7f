import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What the brokers of a cluster answer, written into a folder: the range of each partition, the offsets
 * that consumers of both isolation levels receive, and the offsets of groups.
 *
 * <p>Words: {@code calm BOOTSTRAP} ends retention and compaction of client topics, so that what is
 * answered is what lies on disk; {@code ask BOOTSTRAP FOLDER} asks.
 */
class Answers {
    static final String COMMITTED = "read_committed";
    static final String UNCOMMITTED = "read_uncommitted";

    public static void main(String[] words) throws Exception {
        try (Admin admin = Admin.create(Map.of(
                "bootstrap.servers", words[1], "request.timeout.ms", 120_000,
                "default.api.timeout.ms", 300_000))) {
            Map<String, TopicDescription> topics = described(admin);
            if (words[0].equals("calm")) {
                calm(admin, topics.keySet());
            } else {
                ask(admin, words[1], Path.of(words[2]), topics);
            }
        }
    }

    @SuppressWarnings("unchecked")
    static Map<String, TopicDescription> described(Admin admin) throws Exception {
        Set<String> names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        Object asked = admin.describeTopics(names);
        // `all` became `allTopicNames` in Kafka 4.
        for (String name : List.of("allTopicNames", "all")) {
            try {
                Object future = asked.getClass().getMethod(name).invoke(asked);
                return new TreeMap<>(
                        ((org.apache.kafka.common.KafkaFuture<Map<String, TopicDescription>>) future).get());
            } catch (NoSuchMethodException error) {
                continue;
            }
        }
        throw new IllegalStateException("no topics");
    }

    static void calm(Admin admin, Set<String> topics) throws Exception {
        List<AlterConfigOp> settings = new ArrayList<>();
        for (String[] one : new String[][] {
            {"retention.ms", "-1"}, {"retention.bytes", "-1"}, {"min.cleanable.dirty.ratio", "1"}
        }) {
            settings.add(new AlterConfigOp(new ConfigEntry(one[0], one[1]), AlterConfigOp.OpType.SET));
        }
        Map<ConfigResource, java.util.Collection<AlterConfigOp>> all = new HashMap<>();
        for (String topic : topics) {
            if (!topic.startsWith("__")) {
                all.put(new ConfigResource(ConfigResource.Type.TOPIC, topic), settings);
            }
        }
        admin.incrementalAlterConfigs(all).all().get();
    }

    static void ask(Admin admin, String bootstrap, Path to, Map<String, TopicDescription> topics)
            throws Exception {
        Files.createDirectories(to.resolve(COMMITTED));
        Files.createDirectories(to.resolve(UNCOMMITTED));
        List<String> lines = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> committed = consumer(bootstrap, COMMITTED);
                KafkaConsumer<byte[], byte[]> uncommitted = consumer(bootstrap, UNCOMMITTED)) {
            for (TopicDescription topic : topics.values()) {
                for (TopicPartitionInfo one : topic.partitions()) {
                    TopicPartition place = new TopicPartition(topic.name(), one.partition());
                    List<TopicPartition> it = List.of(place);
                    lines.add(String.format(
                            "{\"topic\":\"%s\",\"partition\":%d,\"leader\":%d,\"log_start_offset\":%d,"
                                    + "\"log_end_offset\":%d,\"last_stable_offset\":%d}",
                            topic.name(), one.partition(), one.leader().id(),
                            uncommitted.beginningOffsets(it).get(place),
                            uncommitted.endOffsets(it).get(place),
                            committed.endOffsets(it).get(place)));
                    if (!topic.name().startsWith("__")) {
                        read(committed, place, to.resolve(COMMITTED));
                        read(uncommitted, place, to.resolve(UNCOMMITTED));
                    }
                }
            }
        }
        write(to.resolve("partitions.json"), lines);
        write(to.resolve("groups.json"), groups(admin));
    }

    static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String isolation) {
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        return new KafkaConsumer<>(
                Map.of("bootstrap.servers", bootstrap, "isolation.level", isolation,
                        "auto.offset.reset", "earliest", "default.api.timeout.ms", 300_000), bytes, bytes);
    }

    static void read(KafkaConsumer<byte[], byte[]> consumer, TopicPartition place, Path folder)
            throws Exception {
        consumer.assign(List.of(place));
        consumer.seekToBeginning(List.of(place));
        long end = consumer.endOffsets(List.of(place)).get(place);
        try (PrintWriter file = new PrintWriter(
                folder.resolve(place.topic() + "-" + place.partition() + ".txt").toFile())) {
            while (consumer.position(place) < end) {
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(200))) {
                    file.println(one.offset());
                }
            }
        }
    }

    static List<String> groups(Admin admin) throws Exception {
        List<String> lines = new ArrayList<>();
        for (var group : admin.listConsumerGroups().all().get()) {
            String name = group.groupId();
            Map<TopicPartition, OffsetAndMetadata> offsets =
                    admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get();
            offsets.forEach((place, committed) -> {
                if (committed != null) {
                    lines.add(String.format(
                            "{\"group\":\"%s\",\"topic\":\"%s\",\"partition\":%d,\"offset\":%d}",
                            name, place.topic(), place.partition(), committed.offset()));
                }
            });
        }
        return lines;
    }

    static void write(Path file, List<String> rows) throws Exception {
        Files.writeString(file, "[\n" + String.join(",\n", rows) + "\n]\n");
    }
}
