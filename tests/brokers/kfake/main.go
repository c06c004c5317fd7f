// A broker that is not Kafka: kfake of franz-go, on one port of the loopback interface.
// It prints its address, and ends when its standard input does.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	fmt.Println(cluster.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin)
}
