package yamltree
import ("testing";"strings";"time";"fmt";"runtime")
func TestZ(t *testing.T){
 n:=1<<20
 for _,u:=range []string{"{a: b}: c\n", "- a: b\n  c:\n  - d\n", "a b: c\n", "\"\n\": c\n ", "a: [b]\n", "...\n","- a\n...\n","? ","- - b\n","a: [b,\n c]\n"} {
  for _,pre:=range []string{"","[","{"," a: ","- ","  "} {
  for _,size:=range []int{n} {
  s:=pre+strings.Repeat(u,size/len(u)); if len(s)>n {s=s[:n]}
  st:=time.Now()
  d,err:=Parse("f",[]byte(s))
  el:=time.Since(st)
  if el>1500*time.Millisecond { e:=fmt.Sprint(err); if len(e)>80{e=e[:80]}; fmt.Printf("%q %q %d %v %v %s\n",pre,u,size,el,d!=nil,e)}
  }}}
 var m runtime.MemStats; runtime.ReadMemStats(&m); fmt.Println(m.Sys>>20)
}
