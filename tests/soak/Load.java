import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Clients and operators of a seeded history, for so many seconds, on the clients of Kafka 2.8 to 4.x.
 *
 * <p>Words: bootstrap, seed, seconds, faults (joined by commas), folders of each broker (joined by
 * commas), then topics as {@code name:partitions:replicas:key=value;key=value}. It ends as a process
 * that was killed: what is open then stays open. What it did goes to standard output, a line each.
 */
class Load {
    static final long TEN_DAYS = TimeUnit.DAYS.toMillis(10);
    static final String[] CODECS = {"none", "none", "none", "gzip", "snappy", "lz4", "zstd"};

    final String bootstrap;
    final long seed;
    final long seconds;
    volatile long end;
    final List<String> faults;
    final String[] folders;
    final Map<String, Topic> topics = new HashMap<>();
    final PrintStream journal = System.out;

    /** A topic as it was created; {@code partitions} grows. */
    static class Topic {
        final String name;
        volatile int partitions;
        final short replicas;
        final Map<String, String> settings = new HashMap<>();

        Topic(String word) {
            String[] parts = word.split(":", 4);
            name = parts[0];
            partitions = Integer.parseInt(parts[1]);
            replicas = Short.parseShort(parts[2]);
            for (String one : parts[3].isEmpty() ? new String[0] : parts[3].split(";")) {
                settings.put(one.split("=")[0], one.split("=")[1]);
            }
        }

        NewTopic made() {
            return new NewTopic(name, partitions, replicas).configs(settings);
        }
    }

    Load(String bootstrap, String seed, String seconds, String faults, String folders, List<String> topics) {
        this.bootstrap = bootstrap;
        this.seed = Long.parseLong(seed);
        this.seconds = Long.parseLong(seconds);
        this.faults = Arrays.asList(faults.split(","));
        this.folders = folders.split(",");
        for (String word : topics) {
            Topic topic = new Topic(word);
            this.topics.put(topic.name, topic);
        }
    }

    public static void main(String[] words) throws Exception {
        List<String> topics = Arrays.asList(words).subList(5, words.length);
        Load load = new Load(words[0], words[1], words[2], words[3], words[4], topics);
        try (Admin admin = load.admin()) {
            List<NewTopic> made = new ArrayList<>();
            load.topics.values().forEach(topic -> made.add(topic.made()));
            admin.createTopics(made, new CreateTopicsOptions().timeoutMs(300_000)).all().get();
            load.end = System.currentTimeMillis() + 1000 * load.seconds;
            load.say("load", "topics made");
            load.run(admin);
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    void run(Admin admin) throws Exception {
        Random chance = new Random(seed);
        for (int i = 0; i < 4 + chance.nextInt(3); i++) {
            start("t-" + i, chance.nextLong(), this::transactional);
        }
        if (has("zombie")) {
            start("t-0", chance.nextLong(), this::transactional);
        }
        if (has("epochs")) {
            // Its epoch was raised before: see epochs.py.
            start("e-0", chance.nextLong(), this::transactional);
        }
        for (int i = 0; i < 2; i++) {
            start("i-" + i, chance.nextLong(), (name, own) -> withoutTransactions(name, own, true));
        }
        start("p-0", chance.nextLong(), (name, own) -> withoutTransactions(name, own, false));
        start("g-plain", chance.nextLong(), this::group);
        while (left() > 0) {
            Thread.sleep(Math.min(left(), 700 + chance.nextInt(2500)));
            String fault = faults.get(chance.nextInt(faults.size()));
            try {
                operate(admin, fault, chance);
                say(fault, "done");
            } catch (Exception error) {
                say(fault, error.toString());
            }
        }
    }

    interface Client {
        void live(String name, Random chance) throws Exception;
    }

    void start(String name, long own, Client client) {
        Thread thread = new Thread(() -> {
            Random chance = new Random(own);
            while (left() > 0) {
                try {
                    client.live(name, chance);
                } catch (Exception error) {
                    say(name, "again after " + error);
                    rest(200);
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    boolean has(String fault) {
        return faults.contains(fault);
    }

    long left() {
        return end - System.currentTimeMillis();
    }

    void rest(long ms) {
        try {
            Thread.sleep(Math.max(0, Math.min(ms, left())));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    void say(String who, String what) {
        synchronized (journal) {
            journal.println(System.currentTimeMillis() + "\t" + who + "\t" + what.replace('\n', ' '));
        }
    }

    Admin admin() {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("request.timeout.ms", "40000");
        given.put("default.api.timeout.ms", "45000");
        return Admin.create(given);
    }

    Properties producer(Random chance) {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("key.serializer", ByteArraySerializer.class);
        given.put("value.serializer", ByteArraySerializer.class);
        given.put("delivery.timeout.ms", "9000");
        given.put("request.timeout.ms", "3000");
        given.put("max.block.ms", "9000");
        given.put("linger.ms", chance.nextInt(6));
        given.put("batch.size", 300 << chance.nextInt(6));
        given.put("compression.type", CODECS[chance.nextInt(CODECS.length)]);
        return given;
    }

    /** One producer of a transactional id, until it is fenced or replaced by a new one. */
    void transactional(String name, Random chance) throws Exception {
        Properties given = producer(chance);
        boolean brief = chance.nextInt(3) == 0;
        given.put("transactional.id", name);
        given.put("transaction.timeout.ms", brief ? 2000 + chance.nextInt(4000) : 600_000);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(given);
        boolean leaves = false;
        try {
            producer.initTransactions();
            say(name, "initialised");
            for (int turns = 3 + chance.nextInt(60); turns > 0 && left() > 0; turns--) {
                producer.beginTransaction();
                write(producer, chance);
                if (chance.nextInt(4) == 0) {
                    Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
                    read.put(anyPlace(chance), new OffsetAndMetadata(chance.nextInt(1000)));
                    producer.sendOffsetsToTransaction(read, new ConsumerGroupMetadata("g-" + name));
                }
                if (brief && chance.nextInt(8) == 0) {
                    producer.flush();
                    rest(8000);
                }
                if (chance.nextInt(25) == 0) {
                    producer.flush();
                    leaves = true;
                    return;
                }
                if (chance.nextInt(5) == 0) {
                    producer.abortTransaction();
                    say(name, "aborted");
                } else {
                    producer.commitTransaction();
                    say(name, "committed");
                }
                rest(chance.nextInt(120));
            }
        } finally {
            // Closed at once, a producer leaves its transaction to the coordinator.
            say(name, leaves ? "left" : "closed");
            producer.close(leaves || left() <= 0 ? Duration.ZERO : Duration.ofSeconds(5));
        }
    }

    void write(KafkaProducer<byte[], byte[]> producer, Random chance) {
        for (int rounds = chance.nextInt(4); rounds >= 0; rounds--) {
            for (int records = chance.nextInt(8); records >= 0; records--) {
                producer.send(record(chance));
            }
            if (chance.nextBoolean()) {
                producer.flush();
            }
        }
    }

    TopicPartition anyPlace(Random chance) {
        List<Topic> all = new ArrayList<>(topics.values());
        Topic topic = all.get(chance.nextInt(all.size()));
        return new TopicPartition(topic.name, chance.nextInt(topic.partitions));
    }

    ProducerRecord<byte[], byte[]> record(Random chance) {
        TopicPartition place = anyPlace(chance);
        Long time = null;
        if (has("event_times") && chance.nextInt(4) == 0) {
            time = System.currentTimeMillis() - (chance.nextBoolean() ? TEN_DAYS : chance.nextInt(3_600_000));
        }
        byte[] value = chance.nextInt(20) == 0 ? null : new byte[chance.nextInt(200)];
        byte[] key = ("key-" + chance.nextInt(12)).getBytes();
        return new ProducerRecord<>(place.topic(), place.partition(), time, key, value);
    }

    void withoutTransactions(String name, Random chance, boolean idempotent) {
        Properties given = producer(chance);
        given.put("enable.idempotence", idempotent);
        given.put("acks", idempotent ? "all" : "1");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(given)) {
            for (int turns = 20 + chance.nextInt(100); turns > 0 && left() > 0; turns--) {
                write(producer, chance);
                rest(chance.nextInt(idempotent && chance.nextInt(14) == 0 ? 16_000 : 200));
            }
        }
    }

    /** A member of a classic group, which reads what is committed and commits what it read. */
    void group(String name, Random chance) {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("group.id", name);
        given.put("isolation.level", "read_committed");
        given.put("auto.offset.reset", "earliest");
        given.put("enable.auto.commit", "false");
        // A member that died leaves its group while the cluster comes to rest, not while it is asked.
        given.put("session.timeout.ms", "6000");
        given.put("heartbeat.interval.ms", "1500");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given, bytes, bytes)) {
            consumer.subscribe(topics.keySet());
            for (int turns = 10 + chance.nextInt(40); turns > 0 && left() > 0; turns--) {
                for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(300))) {
                    if (one.offset() < 0) {
                        throw new IllegalStateException("a record without an offset");
                    }
                }
                consumer.commitSync(Duration.ofSeconds(3));
            }
        }
    }

    /** One act of an operator. */
    void operate(Admin admin, String fault, Random chance) throws Exception {
        switch (fault) {
            case "delete_records":
                deleteRecords(admin, anyPlace(chance), chance);
                break;
            case "recreate":
                Topic again = topics.get("again");
                admin.deleteTopics(Set.of(again.name)).all().get(15, TimeUnit.SECONDS);
                rest(chance.nextInt(800));
                for (int tries = 0; tries < 20; tries++) {
                    try {
                        admin.createTopics(List.of(again.made())).all().get(15, TimeUnit.SECONDS);
                        return;
                    } catch (Exception error) {
                        rest(300);
                    }
                }
                throw new IllegalStateException("not made again");
            case "partitions":
                Topic grown = topics.get("grows");
                if (grown.partitions < 5) {
                    admin.createPartitions(Map.of(grown.name, NewPartitions.increaseTo(grown.partitions + 1)))
                            .all().get(15, TimeUnit.SECONDS);
                    grown.partitions++;
                }
                break;
            case "dirs":
                move(admin, anyPlace(chance), chance);
                break;
            case "leaders":
                moveLeader(admin, chance);
                break;
            case "fence":
                Properties given = producer(chance);
                given.put("transactional.id", "t-" + chance.nextInt(4));
                try (KafkaProducer<byte[], byte[]> newer = new KafkaProducer<>(given)) {
                    newer.initTransactions();
                }
                break;
            default:
                rest(500);
        }
    }

    void deleteRecords(Admin admin, TopicPartition place, Random chance) throws Exception {
        long first = admin.listOffsets(Map.of(place, OffsetSpec.earliest())).all().get().get(place).offset();
        long last = admin.listOffsets(Map.of(place, OffsetSpec.latest())).all().get().get(place).offset();
        long before = chance.nextInt(4) == 0 ? last : first + (long) ((last - first) * chance.nextDouble());
        admin.deleteRecords(Map.of(place, RecordsToDelete.beforeOffset(before)))
                .all().get(15, TimeUnit.SECONDS);
        say("delete_records", place + " before " + before);
    }

    /** Another leader without a restart; of an internal topic, another coordinator. */
    void moveLeader(Admin admin, Random chance) throws Exception {
        List<TopicPartition> places = new ArrayList<>();
        List<Integer> brokers = new ArrayList<>();
        admin.describeCluster().nodes().get(15, TimeUnit.SECONDS).forEach(one -> brokers.add(one.id()));
        for (TopicDescription topic : Answers.described(admin).values()) {
            for (TopicPartitionInfo one : topic.partitions()) {
                places.add(new TopicPartition(topic.name(), one.partition()));
            }
        }
        TopicPartition place = places.get(chance.nextInt(places.size()));
        Collections.shuffle(brokers, chance);
        // Now and then a replica less, which copies all of it again when it is one more.
        int replicas = brokers.size() - (chance.nextInt(4) == 0 ? 1 : 0);
        NewPartitionReassignment wanted = new NewPartitionReassignment(brokers.subList(0, replicas));
        admin.alterPartitionReassignments(Map.of(place, Optional.of(wanted)))
                .all().get(15, TimeUnit.SECONDS);
        rest(chance.nextInt(1500));
        Optional<Throwable> refused = admin.electLeaders(ElectionType.PREFERRED, Set.of(place))
                .partitions().get(15, TimeUnit.SECONDS).get(place);
        say("leaders", place + " on " + wanted.targetReplicas() + refused.map(one -> ": " + one).orElse(""));
    }

    void move(Admin admin, TopicPartition place, Random chance) throws Exception {
        int broker = 1;
        String to = folders[chance.nextInt(folders.length)];
        TopicPartitionReplica replica = new TopicPartitionReplica(place.topic(), place.partition(), broker);
        admin.alterReplicaLogDirs(Map.of(replica, to)).all().get(15, TimeUnit.SECONDS);
        say("dirs", replica + " to " + to);
    }
}
