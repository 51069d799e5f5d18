export default function Home() {
  return <p>Welcome</p>;
}
