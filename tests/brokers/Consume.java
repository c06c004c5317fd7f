import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints `topic partition end` and the offsets received, for each TOPIC:PARTITION named. */
class Consume {
    public static void main(String[] words) {
        Map<String, Object> given =
                Map.of("bootstrap.servers", words[0], "isolation.level", words[1]);
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(given, bytes, bytes)) {
            for (int i = 2; i < words.length; i++) {
                String[] place = words[i].split(":");
                TopicPartition partition = new TopicPartition(place[0], Integer.parseInt(place[1]));
                consumer.assign(List.of(partition));
                consumer.seekToBeginning(List.of(partition));
                long end = consumer.endOffsets(List.of(partition)).get(partition);
                StringBuilder told = new StringBuilder(place[0] + " " + place[1] + " " + end);
                while (consumer.position(partition) < end) {
                    for (ConsumerRecord<byte[], byte[]> one : consumer.poll(java.time.Duration.ofSeconds(1))) {
                        told.append(' ').append(one.offset());
                    }
                }
                System.out.println(told);
            }
        }
    }
}
