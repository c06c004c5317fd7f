import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Properties;
import java.util.TreeSet;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.ProducerIdAndEpoch;

/**
 * Operators' aborts (KIP-664) of transactions that are open, for so many seconds.
 *
 * <p>An abort of one partition of a transaction that is committed afterwards tears it, so only the
 * producers of this program are aborted, and none of them commits what an operator has touched. Such a
 * transaction goes on, is aborted by its producer, by the timeout or by the next producer of its id.
 *
 * <p>Words: bootstrap, seed, seconds, topics as {@link Load} has them.
 */
class Aborts {
    static final String OFFSETS = "__consumer_offsets";

    final Load load;
    final Admin admin;

    Aborts(Load load, Admin admin) {
        this.load = load;
        this.admin = admin;
    }

    public static void main(String[] words) throws Exception {
        List<String> topics = Arrays.asList(words).subList(3, words.length);
        Load load = new Load(words[0], words[1], words[2], "aborts", "", topics);
        load.end = System.currentTimeMillis() + 1000 * load.seconds;
        try (Admin admin = load.admin()) {
            Aborts aborts = new Aborts(load, admin);
            Random chance = new Random(load.seed);
            for (int i = 0; i < 2; i++) {
                load.start("a-" + i, chance.nextLong(), aborts::aborted);
            }
            load.rest(load.left());
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    /** One producer, some of whose transactions an operator aborts. */
    void aborted(String name, Random chance) throws Exception {
        Properties given = load.producer(chance);
        given.put("transactional.id", name);
        given.put("transaction.timeout.ms", chance.nextBoolean() ? 4000 : 600_000);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(given);
        try {
            producer.initTransactions();
            for (int turns = 2 + chance.nextInt(8); turns > 0 && load.left() > 0; turns--) {
                producer.beginTransaction();
                Set<TopicPartition> written = write(producer, chance, name);
                if (chance.nextInt(3) == 0) {
                    producer.commitTransaction();
                    load.say(name, "committed");
                    continue;
                }
                operate(producer, name, written, chance);
                if (chance.nextInt(3) == 0) {
                    written.addAll(write(producer, chance, name));
                    if (chance.nextBoolean()) {
                        operate(producer, name, written, chance);
                    }
                }
                switch (chance.nextInt(4)) {
                    case 0:
                        load.say(name, "left");
                        return;
                    case 1:
                        load.rest(6000);
                        break;
                    default:
                }
                producer.abortTransaction();
                load.say(name, "aborted");
                load.rest(chance.nextInt(200));
            }
        } finally {
            producer.close(Duration.ZERO);
        }
    }

    /** Writes into the open transaction; where its data now lie. */
    Set<TopicPartition> write(KafkaProducer<byte[], byte[]> producer, Random chance, String name)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (int records = chance.nextInt(12); records >= 0; records--) {
            sent.add(producer.send(load.record(chance)));
        }
        producer.flush();
        Set<TopicPartition> written = new TreeSet<>(
                (one, other) -> one.toString().compareTo(other.toString()));
        for (Future<RecordMetadata> one : sent) {
            RecordMetadata there = one.get();
            written.add(new TopicPartition(there.topic(), there.partition()));
        }
        if (chance.nextInt(3) == 0) {
            producer.sendOffsetsToTransaction(
                    Map.of(load.anyPlace(chance), new OffsetAndMetadata(chance.nextInt(1000))),
                    new ConsumerGroupMetadata("g-" + name));
            for (int partition = 0; partition < 3; partition++) {
                written.add(new TopicPartition(OFFSETS, partition));
            }
        }
        return written;
    }

    /** An operator looks where the producer has a transaction open, and aborts some of it. */
    void operate(
            KafkaProducer<byte[], byte[]> producer, String name, Set<TopicPartition> written, Random chance)
            throws Exception {
        ProducerIdAndEpoch own = identity(producer);
        List<TopicPartition> places = new ArrayList<>(written);
        Collections.shuffle(places, chance);
        int wanted = 1 + chance.nextInt(places.size());
        for (TopicPartition place : places) {
            for (ProducerState one : admin.describeProducers(List.of(place)).partitionResult(place)
                    .get(15, TimeUnit.SECONDS).activeProducers()) {
                boolean open = one.currentTransactionStartOffset().isPresent();
                if (one.producerId() != own.producerId || one.producerEpoch() != own.epoch || !open) {
                    continue;
                }
                // The tool takes 0 where the leader knows no coordinator epoch.
                AbortTransactionSpec abort = new AbortTransactionSpec(
                        place, own.producerId, own.epoch, one.coordinatorEpoch().orElse(0));
                for (int times = chance.nextInt(5) == 0 ? 2 : 1; times > 0; times--) {
                    admin.abortTransaction(abort).all().get(15, TimeUnit.SECONDS);
                    load.say(name, "operator's abort of " + place + " open since "
                            + one.currentTransactionStartOffset().getAsLong() + ", " + own);
                }
                wanted--;
            }
            if (wanted <= 0) {
                return;
            }
        }
    }

    /** Producer id and epoch, which the client tells nobody. */
    static ProducerIdAndEpoch identity(KafkaProducer<byte[], byte[]> producer) throws Exception {
        Field field = KafkaProducer.class.getDeclaredField("transactionManager");
        field.setAccessible(true);
        Object manager = field.get(producer);
        Method method = manager.getClass().getDeclaredMethod("producerIdAndEpoch");
        method.setAccessible(true);
        return (ProducerIdAndEpoch) method.invoke(manager);
    }
}
